//! A class file with code, constants and fields added.

use std::ops::Range;

use crate::pool::COUNT_AT;
use crate::splice::{Signature, Splicer};
use crate::{ClassFile, MethodEdit, PoolEditor, PoolError, SkipReason, SkippedMethod, access};

/// Edits a class.
///
/// Only the edited parts change: the constant pool grows, fields are added before the class's own,
/// the `Code` of edited methods is rewritten, and the rest is copied byte for byte.
#[derive(Clone, Debug)]
pub struct ClassEditor<'c> {
    class: &'c ClassFile<'c>,
    pool: PoolEditor<'c>,
    /// The fields added.
    fields: Vec<u8>,
    field_count: u16,
    /// The rewritten attributes `Code`, one after another.
    code: Vec<u8>,
    replaced: Vec<CodeRewrite>,
    skipped: Vec<SkippedMethod>,
    splicer: Splicer,
}

/// An attribute `Code` that was rewritten.
#[derive(Clone, Debug)]
struct CodeRewrite {
    /// The range of the original in the class file.
    original: Range<usize>,
    /// The range of the new attribute among those written.
    new: Range<usize>,
}

/// An edited class.
#[derive(Clone, Debug)]
pub struct ClassEdit {
    /// The class file.
    pub bytes: Vec<u8>,
    /// The methods that were left unchanged although an edit was requested.
    pub skipped: Vec<SkippedMethod>,
}

impl<'c> ClassEditor<'c> {
    /// Makes an editor that has not changed anything.
    pub fn new(class: &'c ClassFile<'c>) -> Self {
        Self {
            class,
            pool: PoolEditor::new(class.pool()),
            fields: Vec::new(),
            field_count: 0,
            code: Vec::new(),
            replaced: Vec::new(),
            skipped: Vec::new(),
            splicer: Splicer::default(),
        }
    }

    /// The class's constants, to which others can be added.
    pub fn pool(&mut self) -> &mut PoolEditor<'c> {
        &mut self.pool
    }

    /// Adds a field without attributes before the class's own, and after those added so far (JVM
    /// specification 4.5).
    ///
    /// # Errors
    ///
    /// If the pool is full, or the class has 65,535 fields.
    pub fn add_field(
        &mut self,
        access_flags: u16,
        name: impl AsRef<[u8]>,
        descriptor: impl AsRef<[u8]>,
    ) -> Result<(), PoolError> {
        self.add_field_with(access_flags, name, descriptor, &[])
    }

    /// As [`add_field`](Self::add_field), with an annotation without elements, given by the
    /// descriptor of its type (JVM specification 4.7.16).
    ///
    /// # Errors
    ///
    /// As for [`add_field`](Self::add_field).
    pub fn add_annotated_field(
        &mut self,
        access_flags: u16,
        name: impl AsRef<[u8]>,
        descriptor: impl AsRef<[u8]>,
        annotation: impl AsRef<[u8]>,
    ) -> Result<(), PoolError> {
        let attribute = self.pool.utf8("RuntimeVisibleAnnotations")?;
        let annotation = self.pool.utf8(annotation)?;
        // The attribute's contents are six bytes: one annotation, its type, no elements.
        let contents = [attribute, 0, 6, 1, annotation, 0];
        self.add_field_with(access_flags, name, descriptor, &contents)
    }

    /// Adds a field with an attribute, or without.
    fn add_field_with(
        &mut self,
        access_flags: u16,
        name: impl AsRef<[u8]>,
        descriptor: impl AsRef<[u8]>,
        attribute: &[u16],
    ) -> Result<(), PoolError> {
        let count = self.class.fields().len() + usize::from(self.field_count);
        if count >= usize::from(u16::MAX) {
            return Err(PoolError::Full);
        }
        let name = self.pool.utf8(name)?;
        let descriptor = self.pool.utf8(descriptor)?;
        let attribute_count = u16::from(!attribute.is_empty());
        for value in [access_flags, name, descriptor, attribute_count].iter().chain(attribute) {
            self.fields.extend(value.to_be_bytes());
        }
        self.field_count += 1;
        Ok(())
    }

    /// Edits the method at an index. If that is not possible, the method stays as it is, and is
    /// reported in [`ClassEdit::skipped`]. Of two edits of one method the last successful one counts.
    ///
    /// Returns whether the method is edited.
    pub fn edit_method(&mut self, method: usize, edit: &MethodEdit) -> bool {
        let start = self.code.len();
        match self.splice(method, edit) {
            Ok(original) => {
                self.replaced.push(CodeRewrite { original, new: start..self.code.len() });
                true
            }
            Err(reason) => {
                self.code.truncate(start);
                self.skipped.push(SkippedMethod { method, reason });
                false
            }
        }
    }

    /// The pcs of the instructions of the method edited last, in its original and in its new code.
    pub fn instructions(&self) -> impl Iterator<Item = [u32; 2]> {
        self.splicer.instructions()
    }

    /// The end of the code of the method edited last, before the handlers that were added.
    pub fn code_end(&self) -> usize {
        self.splicer.end()
    }

    fn splice(&mut self, method: usize, edit: &MethodEdit) -> Result<Range<usize>, SkipReason> {
        let method = self.class.method(method).ok_or(SkipReason::NoCode)?;
        let attribute = method.code_attribute().ok_or(SkipReason::NoCode)?;
        let code = method.code()?.ok_or(SkipReason::NoCode)?;
        let name = &self.class.bytes()[attribute.start..attribute.start + 2];
        let name_index = u16::from_be_bytes([name[0], name[1]]);
        let signature = Signature {
            class: self.class.name()?,
            name: method.name()?,
            descriptor: method.method_descriptor()?,
            is_static: method.access_flags() & access::STATIC != 0,
        };
        let (pool, out) = (&mut self.pool, &mut self.code);
        self.splicer.splice(name_index, &signature, &code, edit, pool, out)?;
        Ok(attribute)
    }

    /// Writes the class file.
    pub fn finish(mut self) -> ClassEdit {
        let original = self.class.bytes();
        let added = self.pool.added().len() + self.fields.len() + self.code.len();
        let mut out =
            Copier { original, copied: 0, bytes: Vec::with_capacity(original.len() + added) };
        out.replace(COUNT_AT..COUNT_AT + 2, &self.pool.count().to_be_bytes());
        out.insert(self.class.pool().end(), self.pool.added());
        let field_count = self.class.fields().len() as u16 + self.field_count;
        let at = self.class.field_count_at();
        out.replace(at..at + 2, &field_count.to_be_bytes());
        out.insert(at + 2, &self.fields);
        // The sort is stable: of two edits of one method the second stays after the first.
        self.replaced.sort_by_key(|it| it.original.start);
        for (index, CodeRewrite { original, new }) in self.replaced.iter().enumerate() {
            let next = self.replaced.get(index + 1);
            if next.is_none_or(|next| next.original != *original) {
                out.replace(original.clone(), &self.code[new.clone()]);
            }
        }
        out.insert(original.len(), &[]);
        ClassEdit { bytes: out.bytes, skipped: self.skipped }
    }
}

/// Copies a file in which some parts are replaced, from its beginning to its end.
struct Copier<'a> {
    original: &'a [u8],
    /// The number of bytes of the original that are copied or replaced.
    copied: usize,
    bytes: Vec<u8>,
}

impl Copier<'_> {
    fn insert(&mut self, at: usize, bytes: &[u8]) {
        self.replace(at..at, bytes);
    }

    fn replace(&mut self, range: Range<usize>, bytes: &[u8]) {
        self.bytes.extend_from_slice(&self.original[self.copied..range.start]);
        self.bytes.extend_from_slice(bytes);
        self.copied = range.end;
    }
}
