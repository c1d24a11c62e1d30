//! Writes the accesses to the fields of objects, which only extended files hold.

use std::io::{self, Write};

use perk_profile::fields::AlikeObjects;
use perk_profile::{AllocationSite, FieldAccesses, FieldModifier, KeyedMap, Profile};

use super::{Body, Writer};
use crate::Format;
use crate::binary::{FIELD_MODIFIERS, HAS_EXTENDED, IS_LAST, fields, tag};
use crate::format::SectionKind;

/// A record ends with the entry that brings it to this size.
const RECORD_BYTES: usize = 1 << 20;

/// The layouts and sites that are written, by their numbers.
#[derive(Default)]
struct FieldNumbers {
    layouts: KeyedMap<usize, u64>,
    sites: KeyedMap<AllocationSite, u64>,
}

impl<W: Write> Writer<W> {
    /// Writes FIELD ACCESSES: the accesses to each field, object by object. Objects that are alike
    /// are one entry.
    pub fn field_accesses(
        &mut self,
        profile: &Profile,
        accesses: &FieldAccesses,
    ) -> io::Result<()> {
        if self.extended.is_none() {
            return Err(Format::Binary.refusal(SectionKind::Fields));
        }
        let marks = if accesses.has_extended() { HAS_EXTENDED } else { 0 };
        let mut numbers = FieldNumbers::default();
        let mut body = Body::default().u1(marks);
        for objects in accesses.rows() {
            if body.bytes.len() >= RECORD_BYTES {
                self.record_of(tag::FIELD_ACCESSES, &body.bytes)?;
                body.bytes.truncate(1);
            }
            body = self.layout(profile, accesses, &objects, &mut numbers, body)?;
            body = self.allocation_site(profile, &objects, &mut numbers, body)?;
            let site = objects.site.map_or(0, |site| numbers.sites[&site] + 1);
            body = body
                .u1(fields::OBJECTS)
                .varint(numbers.layouts[&objects.layout])
                .varint(site)
                .varint(objects.object_count);
            for counts in objects.accesses() {
                body = counts.direct.numbers().into_iter().fold(body, Body::varint);
                if accesses.has_extended() {
                    body = counts.extended.numbers().into_iter().fold(body, Body::varint);
                }
            }
        }
        body.bytes[0] |= IS_LAST;
        self.record_of(tag::FIELD_ACCESSES, &body.bytes)
    }

    /// Adds the layout of `objects`, if it is new.
    fn layout(
        &mut self,
        profile: &Profile,
        accesses: &FieldAccesses,
        objects: &AlikeObjects<'_>,
        numbers: &mut FieldNumbers,
        mut body: Body,
    ) -> io::Result<Body> {
        let next = numbers.layouts.len() as u64;
        if *numbers.layouts.entry(objects.layout).or_insert(next) != next {
            return Ok(body);
        }
        // Not by LOAD CLASS: readers take a slash there, as in the names of hidden classes, for a
        // dot.
        let class = profile.symbols.get_class(objects.class).name;
        body = body.u1(fields::LAYOUT).id(self.name(profile, Some(class))?);
        body = body.varint(objects.fields.len() as u64);
        for &field in objects.fields {
            for name in [field.class, field.name, field.descriptor] {
                body = body.id(self.name(profile, Some(name))?);
            }
            let modifier = accesses.modifier(field);
            body = body.u1(modifier_code(modifier));
        }
        Ok(body)
    }

    /// Adds the site of `objects`, if it is known and new.
    fn allocation_site(
        &mut self,
        profile: &Profile,
        objects: &AlikeObjects<'_>,
        numbers: &mut FieldNumbers,
        mut body: Body,
    ) -> io::Result<Body> {
        let next = numbers.sites.len() as u64;
        let Some(site) = objects.site else { return Ok(body) };
        if *numbers.sites.entry(site).or_insert(next) != next {
            return Ok(body);
        }
        body = body.u1(fields::SITE);
        for name in [site.class, site.method, site.descriptor] {
            body = body.id(self.name(profile, Some(name))?);
        }
        Ok(body.u4(site.index.cast_unsigned()))
    }
}

fn modifier_code(modifier: FieldModifier) -> u8 {
    FIELD_MODIFIERS.iter().position(|it| *it == modifier).unwrap_or(0) as u8
}
