//! Reads the accesses to the fields of objects.

use perk_profile::{AccessCounts, AllocationSite, Event, Field, FieldAccesses, FieldCounts, StrId};

use super::BinaryReader;
use super::extended::interrupted;
use crate::Error;
use crate::binary::cursor::Cursor;
use crate::binary::{FIELD_MODIFIERS, HAS_EXTENDED, fields, tag};

/// The entries of earlier records to which others refer by number.
#[derive(Default)]
pub(super) struct FieldEntries {
    /// The numbers of layouts in the model, and of their fields.
    layouts: Vec<(usize, usize)>,
    sites: Vec<AllocationSite>,
}

impl BinaryReader {
    /// Reads a record FIELD ACCESSES.
    pub(super) fn field_accesses(
        &mut self,
        body: &mut Cursor<'_>,
        open: Option<Event>,
        marks: u8,
    ) -> Result<Event, Error> {
        let mut accesses = match open {
            Some(Event::FieldAccesses(accesses)) => accesses,
            Some(_) => return Err(interrupted(body, tag::FIELD_ACCESSES)),
            None => {
                self.known_fields = FieldEntries::default();
                FieldAccesses::default()
            }
        };
        let has_extended = marks & HAS_EXTENDED != 0;
        if has_extended {
            accesses.set_extended();
        }
        let mut counts = Vec::new();
        while !body.is_empty() {
            match body.u1("the kind of an entry")? {
                fields::LAYOUT => self.field_layout(body, &mut accesses)?,
                fields::SITE => {
                    let [class, method, descriptor] = self.three_names(body)?;
                    let index = body.u4("a site's index")?.cast_signed();
                    let site = AllocationSite { class, method, descriptor, index };
                    self.known_fields.sites.push(site);
                }
                fields::OBJECTS => {
                    let number = body.varint("the number of a layout")?;
                    let Some(&(layout, field_count)) = at(&self.known_fields.layouts, number)
                    else {
                        return Err(
                            body.error(format!("no layout {number} comes before its objects"))
                        );
                    };
                    let site = match body.varint("the number of a site")?.checked_sub(1) {
                        None => None,
                        Some(number) => {
                            let site = at(&self.known_fields.sites, number).copied();
                            let what = || format!("no site {number} comes before its objects");
                            Some(site.ok_or_else(|| body.error(what()))?)
                        }
                    };
                    let object_count = body.varint("a number of objects")?;
                    counts.clear();
                    for _ in 0..field_count {
                        let direct = four(body)?;
                        let extended =
                            if has_extended { four(body)? } else { FieldCounts::default() };
                        counts.push(AccessCounts { direct, extended });
                    }
                    accesses.push(site, layout, object_count, counts.iter().copied());
                }
                kind => return Err(body.error(format!("{kind} is not a kind of entry"))),
            }
        }
        Ok(Event::FieldAccesses(accesses))
    }

    /// Adds the accesses, and the section of their metrics.
    pub(super) fn field_accesses_end(&mut self, accesses: FieldAccesses) {
        let section = accesses.section(&mut self.profile);
        self.profile.events.push(Event::FieldAccesses(accesses));
        if !section.is_empty() {
            self.section(section.into());
        }
    }

    fn field_layout(
        &mut self,
        body: &mut Cursor<'_>,
        accesses: &mut FieldAccesses,
    ) -> Result<(), Error> {
        let class = self.known_name(body, "a class's name")?;
        let class = self.profile.symbols.strings.get(class).to_owned();
        let class = self.profile.symbols.class(&class);
        let count = body.varint("the number of fields")?;
        let mut fields = Vec::new();
        for _ in 0..count {
            let [class, name, descriptor] = self.three_names(body)?;
            let field = Field { class, name, descriptor };
            let code = body.u1("the modifier of a field")?;
            let Some(&modifier) = FIELD_MODIFIERS.get(usize::from(code)) else {
                return Err(body.error(format!("{code} is not the modifier of a field")));
            };
            accesses.note_modifier(field, modifier);
            fields.push(field);
        }
        let field_count = fields.len();
        self.known_fields.layouts.push((accesses.layout(class, fields), field_count));
        Ok(())
    }

    fn three_names(&mut self, body: &mut Cursor<'_>) -> Result<[StrId; 3], Error> {
        Ok([
            self.known_name(body, "the name of a class")?,
            self.known_name(body, "the name of a field or method")?,
            self.known_name(body, "a descriptor")?,
        ])
    }

    fn known_name(&mut self, body: &mut Cursor<'_>, what: &str) -> Result<StrId, Error> {
        let name = self.name(body, what)?;
        name.ok_or_else(|| body.error(format!("{what} has the id 0")))
    }
}

fn four(body: &mut Cursor<'_>) -> Result<FieldCounts, Error> {
    let mut numbers = [0; 4];
    for number in &mut numbers {
        *number = body.varint("a number of accesses")?;
    }
    Ok(numbers.into())
}

fn at<T>(table: &[T], number: u64) -> Option<&T> {
    table.get(usize::try_from(number).ok()?)
}
