//! Functions of the objects of heap dumps: what their fields and texts are.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Builder, StringBuilder};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};
use datafusion::prelude::SessionContext;
use perk_heap::{Heap, Limits, Meaning, ObjectId, Value};

use crate::fault::fault;
use crate::recordings::Recordings;

/// The most that the text of an object shows.
const LIMITS: Limits = Limits { char_count: 1 << 16, element_count: 10 };

/// Makes the functions known to a session.
pub(crate) fn register(context: &SessionContext, recordings: &Arc<Recordings>) {
    for kind in [Kind::Hex, Kind::Address, Kind::Field, Kind::Text] {
        let function = HeapFunction::new(kind, Arc::clone(recordings));
        context.register_udf(ScalarUDF::new_from_impl(function));
    }
}

/// The characters of a string, or what an object means in a line; `None` if it means nothing but itself.
pub(crate) fn text(heap: &Heap, object: ObjectId) -> anyhow::Result<Option<String>> {
    Ok(heap.meaning(object, LIMITS)?.map(|meaning| match meaning {
        Meaning::Text { text, .. } => text,
        meaning => meaning.text(),
    }))
}

/// What a function gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// A number as perk writes addresses.
    Hex,
    /// The number of an address as perk writes it.
    Address,
    /// The value of a field of an object.
    Field,
    /// The text of an object.
    Text,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Hex => "hex",
            Kind::Address => "address",
            Kind::Field => "field",
            Kind::Text => "text",
        }
    }

    /// Its arguments, an address first. Those that read a heap may have the number of a recording at the end.
    fn signature(self) -> Signature {
        let (number, text) = (DataType::Int64, DataType::Utf8);
        let of_address = |rest: &[DataType]| {
            [&number, &text].map(|address| {
                let arguments = [address].into_iter().chain(rest).cloned().collect();
                TypeSignature::Exact(arguments)
            })
        };
        let of_heap = |rest: &[DataType]| {
            let with_number = [rest, &[DataType::Int64]].concat();
            [of_address(rest), of_address(&with_number)].concat()
        };
        let forms = match self {
            Kind::Hex => vec![TypeSignature::Exact(vec![number])],
            Kind::Address => vec![TypeSignature::Exact(vec![text])],
            Kind::Field => of_heap(&[DataType::Utf8]),
            Kind::Text => of_heap(&[]),
        };
        Signature::one_of(forms, Volatility::Immutable)
    }
}

struct HeapFunction {
    kind: Kind,
    signature: Signature,
    recordings: Arc<Recordings>,
}

impl HeapFunction {
    fn new(kind: Kind, recordings: Arc<Recordings>) -> Self {
        Self { kind, signature: kind.signature(), recordings }
    }

    /// The only heap, or that of a recording.
    fn heap(&self, number: Option<i64>) -> Result<Arc<Heap>> {
        let name = self.name();
        let recordings = self.recordings.get().map_err(fault)?;
        let mut dumps = recordings.iter().filter_map(|it| Some((it.number, it.heap.as_ref()?)));
        if let Some(number) = number {
            return match dumps.find(|it| i64::try_from(it.0) == Ok(number)) {
                Some((_, dump)) => dump.heap(false),
                None => exec_err!("{name}: recording {number} has no heap dump"),
            };
        }
        match (dumps.next(), dumps.next()) {
            (Some((_, dump)), None) => dump.heap(false),
            (None, _) => exec_err!("{name}: no file has a heap dump"),
            (Some(_), Some(_)) => exec_err!(
                "{name}: several files have heap dumps: give the number of the recording last, {name}(…, recording)"
            ),
        }
    }

    /// What an object gives.
    fn value(&self, heap: &Heap, object: ObjectId, name: &str) -> Result<Option<String>> {
        let value = match self.kind {
            Kind::Text => text(heap, object),
            _ => heap.field(object, name).map_err(Into::into).map(|found| {
                let value = found?.value;
                (value != Value::Reference(0)).then(|| value.text())
            }),
        };
        value.map_err(fault)
    }

    /// What objects give. The heap stays the same while the recording does.
    fn values(&self, arguments: &[ArrayRef]) -> Result<ArrayRef> {
        let (names, numbers) = match (self.kind, arguments) {
            (Kind::Field, [_, names, rest @ ..]) => (Some(names.as_string::<i32>()), rest.first()),
            (_, [_, rest @ ..]) => (None, rest.first()),
            (_, []) => (None, None),
        };
        let numbers = numbers.map(|it| it.as_primitive::<Int64Type>());
        let mut array = StringBuilder::new();
        let mut known: Option<(Option<i64>, Arc<Heap>)> = None;
        for row in 0..arguments.first().map_or(0, |it| it.len()) {
            let address = address(&arguments[0], row);
            let name = names.map_or(Some(""), |it| it.is_valid(row).then(|| it.value(row)));
            let number = numbers.map(|it| it.is_valid(row).then(|| it.value(row)));
            let (Some(address), Some(name), None | Some(Some(_))) = (address, name, number) else {
                array.append_null();
                continue;
            };
            let number = number.flatten();
            let heap = match known {
                Some((of, ref heap)) if of == number => heap,
                _ => &known.insert((number, self.heap(number)?)).1,
            };
            let object = heap.find(address).filter(|_| address != 0);
            let value = object.map(|object| self.value(heap, object, name)).transpose()?;
            array.append_option(value.flatten());
        }
        Ok(Arc::new(array.finish()))
    }
}

/// The address in a row of numbers, or of texts as perk writes addresses; `None` for null and other texts.
fn address(array: &ArrayRef, row: usize) -> Option<u64> {
    if array.is_null(row) {
        return None;
    }
    match array.as_string_opt::<i32>() {
        Some(texts) => parsed(texts.value(row)),
        None => Some(array.as_primitive_opt::<Int64Type>()?.value(row).cast_unsigned()),
    }
}

fn parsed(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

impl std::fmt::Debug for HeapFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HeapFunction").field(&self.kind).finish()
    }
}

impl PartialEq for HeapFunction {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && Arc::ptr_eq(&self.recordings, &other.recordings)
    }
}

impl Eq for HeapFunction {}

impl std::hash::Hash for HeapFunction {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
    }
}

impl ScalarUDFImpl for HeapFunction {
    fn name(&self) -> &str {
        self.kind.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(match self.kind {
            Kind::Address => DataType::Int64,
            Kind::Hex | Kind::Field | Kind::Text => DataType::Utf8,
        })
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arguments = ColumnarValue::values_to_arrays(&arguments.args)?;
        let Some(addresses) = arguments.first() else { return exec_err!("no address is given") };
        let rows = 0..addresses.len();
        let array: ArrayRef = match self.kind {
            Kind::Hex => {
                let mut array = StringBuilder::new();
                rows.for_each(|row| {
                    array.append_option(address(addresses, row).map(|it| format!("0x{it:x}")));
                });
                Arc::new(array.finish())
            }
            Kind::Address => {
                let mut array = Int64Builder::with_capacity(rows.len());
                rows.for_each(|row| {
                    array.append_option(address(addresses, row).map(u64::cast_signed));
                });
                Arc::new(array.finish())
            }
            Kind::Field | Kind::Text => self.values(&arguments)?,
        };
        Ok(ColumnarValue::Array(array))
    }
}
