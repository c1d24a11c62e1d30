//! The classes of heaps made at random, and objects of them.

use perk_heap::Value;
use perk_hprof::heap::FieldType;

use super::{Body, Dice};
use crate::dump::ClassRecord;

/// The classes that every heap has.
pub(crate) mod known {
    use perk_hprof::heap::FieldType;

    pub(crate) const OBJECT: usize = 0;
    pub(crate) const CLASS: usize = 1;
    pub(crate) const THREAD: usize = 2;
    pub(crate) const REFERENCE: usize = 3;
    pub(crate) const SOFT: usize = 4;
    pub(crate) const WEAK: usize = 5;
    pub(crate) const PHANTOM: usize = 6;
    pub(crate) const FINAL: usize = 7;
    pub(crate) const FINALIZER: usize = 8;
    pub(crate) const INTS: usize = 10;
    pub(crate) const BYTES: usize = 11;
    pub(crate) const COUNT: usize = 12;

    /// The class of arrays of a primitive type.
    pub(crate) fn array_of(element: FieldType) -> usize {
        match element {
            FieldType::Int => INTS,
            FieldType::Byte => BYTES,
            _ => unreachable!("only these are made"),
        }
    }
}

/// A class.
#[derive(Clone, Debug)]
pub(crate) struct GraphClass {
    /// The name in the JVM's form.
    pub(crate) name: String,
    pub(crate) superclass: Option<usize>,
    /// The node of the class object.
    pub(crate) place: usize,
    pub(crate) record: ClassRecord,
    /// Whether its objects are arrays.
    pub(crate) is_array: bool,
}

impl GraphClass {
    fn new(name: &str, superclass: Option<usize>, fields: &[(&str, FieldType)]) -> Self {
        let fields = fields.iter().map(|&(name, field)| (name.to_owned(), field)).collect();
        let record = ClassRecord { fields, ..ClassRecord::default() };
        Self {
            name: name.to_owned(),
            superclass,
            place: 0,
            record,
            is_array: name.starts_with('['),
        }
    }

    /// Makes the references those of the class object.
    pub(super) fn take_references(&mut self, dice: &mut Dice, ids: &[u64]) {
        let record = &mut self.record;
        for (index, &id) in ids.iter().enumerate() {
            let value = Value::Reference(id);
            match dice.below(8) {
                0 if record.loader == 0 => record.loader = id,
                1 if record.signers == 0 => record.signers = id,
                2 if record.domain == 0 => record.domain = id,
                3 => record.constants.push((index as u16, value)),
                4 => record.statics.push(("<resolved_references>".to_owned(), value)),
                _ => record.statics.push((format!("f{}", index % 4), value)),
            }
        }
        if dice.chance(30) {
            record.statics.push(("count".to_owned(), Value::Long(-5)));
            record.constants.push((7, Value::Int(8)));
        }
    }
}

/// Returns the known classes, and up to eight others.
pub(super) fn random(dice: &mut Dice) -> Vec<GraphClass> {
    use FieldType::{Int, Long, Object};
    let object = Some(known::OBJECT);
    let reference =
        [("referent", Object), ("queue", Object), ("next", Object), ("discovered", Object)];
    let mut classes = vec![
        GraphClass::new("java/lang/Object", None, &[]),
        GraphClass::new("java/lang/Class", object, &[("name", Object), ("classLoader", Object)]),
        GraphClass::new(
            "java/lang/Thread",
            object,
            &[("tid", Long), ("name", Object), ("target", Object)],
        ),
        GraphClass::new("java/lang/ref/Reference", object, &reference),
        GraphClass::new(
            "java/lang/ref/SoftReference",
            Some(known::REFERENCE),
            &[("timestamp", Long)],
        ),
        GraphClass::new("java/lang/ref/WeakReference", Some(known::REFERENCE), &[]),
        GraphClass::new("java/lang/ref/PhantomReference", Some(known::REFERENCE), &[]),
        GraphClass::new("java/lang/ref/FinalReference", Some(known::REFERENCE), &[]),
        GraphClass::new(
            "java/lang/ref/Finalizer",
            Some(known::FINAL),
            &[("next", Object), ("prev", Object)],
        ),
        GraphClass::new("[Ljava/lang/Object;", object, &[]),
        GraphClass::new("[I", object, &[]),
        GraphClass::new("[B", object, &[]),
    ];
    assert_eq!(classes.len(), known::COUNT);
    for number in 0..dice.below(9) {
        let name = format!("app/C{number}");
        let above = match dice.below(6) {
            0..=2 => known::OBJECT,
            3 => known::THREAD + dice.below(known::FINALIZER + 1 - known::THREAD),
            _ => dice.below(classes.len()),
        };
        let above = if classes[above].is_array || above == known::CLASS { 0 } else { above };
        // Names that mean something in `Reference` only.
        let names = ["f0", "f1", "f2", "f3", "referent", "discovered"];
        let types = [Object, Object, Object, Int, FieldType::Byte, FieldType::Double];
        let mut fields = Vec::new();
        for name in names {
            if dice.chance(40) {
                fields.push((name, types[dice.below(types.len())]));
            }
        }
        classes.push(GraphClass::new(&name, Some(above), &fields));
        if dice.chance(25) {
            classes.push(GraphClass::new(&format!("[Lapp/C{number};"), object, &[]));
        }
    }
    classes
}

/// Returns the fields of the instances of a class, with the class that declares each.
pub(super) fn fields(classes: &[GraphClass], class: usize) -> Vec<(usize, String, FieldType)> {
    let chain = std::iter::successors(Some(class), |&class| classes[class].superclass);
    let declared = chain.flat_map(|class| {
        let fields = classes[class].record.fields.iter();
        fields.map(move |(name, field)| (class, name.clone(), *field))
    });
    declared.collect()
}

/// Makes an object with these references.
pub(super) fn object(dice: &mut Dice, classes: &[GraphClass], mut ids: Vec<u64>) -> Body {
    let references =
        |class: usize| fields(classes, class).iter().filter(|it| it.2 == FieldType::Object).count();
    if ids.is_empty() && dice.chance(50) {
        let length = dice.below(9);
        return match dice.chance(50) {
            true => Body::Primitives(FieldType::Byte, vec![7; length]),
            false => Body::Primitives(FieldType::Int, vec![9; length * 4]),
        };
    }
    for _ in 0..4 {
        let class = match dice.chance(40) {
            true => known::SOFT + dice.below(known::FINALIZER + 1 - known::SOFT),
            false => dice.below(classes.len()),
        };
        let fits =
            !classes[class].is_array && class != known::CLASS && references(class) >= ids.len();
        if !fits {
            continue;
        }
        ids.resize(references(class), 0);
        dice.shuffle(&mut ids);
        let value = |(_, _, field): (usize, String, FieldType)| match field {
            FieldType::Object => Value::Reference(ids.pop().unwrap()),
            FieldType::Long => Value::Long(dice.next() as i64),
            FieldType::Int => Value::Int(dice.next() as i32),
            FieldType::Byte => Value::Byte(dice.next() as i8),
            _ => Value::Double(0.5),
        };
        return Body::Instance {
            class,
            values: fields(classes, class).into_iter().map(value).collect(),
        };
    }
    let arrays: Vec<usize> =
        (0..classes.len()).filter(|&it| classes[it].name.starts_with("[L")).collect();
    ids.extend(std::iter::repeat_n(0, dice.below(4)));
    dice.shuffle(&mut ids);
    Body::Objects { class: arrays[dice.below(arrays.len())], elements: ids }
}
