//! Functions of stacks: what their frames are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanBuilder, FixedSizeBinaryArray, ListBuilder, StringBuilder,
};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};
use datafusion::prelude::SessionContext;
use perk_profile::{FrameId, NamePattern, NodeId};

use crate::fault::fault;
use crate::recording::Recording;
use crate::stacks::{STACK_ID_BYTES, StackId, frames};

/// Makes the functions known to a session. They ask the recordings that `recordings` gives, which can be others later.
pub fn register(
    context: &SessionContext,
    recordings: impl Fn() -> anyhow::Result<Arc<[Recording]>> + Send + Sync + 'static,
) {
    all(recordings).into_iter().for_each(|function| context.register_udf(function));
}

/// The functions, for sessions that know them in another way.
pub fn all(
    recordings: impl Fn() -> anyhow::Result<Arc<[Recording]>> + Send + Sync + 'static,
) -> Vec<ScalarUDF> {
    let book = Arc::new(StackBook { recordings: Box::new(recordings), places: Mutex::default() });
    let kinds = [Kind::Contains, Kind::Frames, Kind::Leaf, Kind::Root, Kind::Owner];
    let function = |kind| ScalarUDF::new_from_impl(StackFunction::new(kind, Arc::clone(&book)));
    kinds.map(function).into()
}

/// The recordings that have stacks.
type Recordings = dyn Fn() -> anyhow::Result<Arc<[Recording]>> + Send + Sync;

/// Where each stack is, which the first question finds.
struct StackBook {
    recordings: Box<Recordings>,
    places: Mutex<Option<Arc<Places>>>,
}

/// The recording and the node of each stack.
struct Places {
    recordings: Arc<[Recording]>,
    places: HashMap<StackId, (usize, NodeId)>,
}

impl StackBook {
    fn places(&self) -> Result<Arc<Places>> {
        // They can wait for a store, which threads that wait for a lock would hold up.
        let recordings = (self.recordings)().map_err(fault)?;
        let mut known = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some(places) if Arc::ptr_eq(&places.recordings, &recordings) => Ok(Arc::clone(places)),
            _ => Ok(Arc::clone(known.insert(Arc::new(Places::new(recordings))))),
        }
    }
}

impl Places {
    fn new(recordings: Arc<[Recording]>) -> Self {
        let mut places = HashMap::new();
        for (at, recording) in recordings.iter().enumerate() {
            for (node, &id) in recording.stacks().iter().enumerate() {
                places.entry(id).or_insert((at, NodeId::new(node)));
            }
        }
        Self { recordings, places }
    }

    fn find(&self, id: StackId) -> Option<(&Recording, NodeId)> {
        self.places.get(&id).map(|&(at, node)| (&self.recordings[at], node))
    }
}

/// What a function says of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// Whether a method of it has a name that a pattern matches.
    Contains,
    /// The names of its methods, the outermost first.
    Frames,
    /// The name of the innermost method.
    Leaf,
    /// The name of the outermost method.
    Root,
    /// Whose code the innermost method is.
    Owner,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Contains => "stack_contains",
            Kind::Frames => "frames",
            Kind::Leaf => "leaf",
            Kind::Root => "root",
            Kind::Owner => "owner",
        }
    }
}

struct StackFunction {
    kind: Kind,
    signature: Signature,
    book: Arc<StackBook>,
}

impl StackFunction {
    fn new(kind: Kind, book: Arc<StackBook>) -> Self {
        let stack = DataType::FixedSizeBinary(STACK_ID_BYTES);
        let arguments = match kind {
            Kind::Contains => vec![stack, DataType::Utf8],
            Kind::Frames | Kind::Leaf | Kind::Root | Kind::Owner => vec![stack],
        };
        let signature = Signature::new(TypeSignature::Exact(arguments), Volatility::Immutable);
        Self { kind, signature, book }
    }
}

impl std::fmt::Debug for StackFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("StackFunction").field(&self.kind).finish()
    }
}

impl PartialEq for StackFunction {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && Arc::ptr_eq(&self.book, &other.book)
    }
}

impl Eq for StackFunction {}

impl std::hash::Hash for StackFunction {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
    }
}

impl ScalarUDFImpl for StackFunction {
    fn name(&self) -> &str {
        self.kind.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(match self.kind {
            Kind::Contains => DataType::Boolean,
            Kind::Frames => DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true))),
            Kind::Leaf | Kind::Root | Kind::Owner => DataType::Utf8,
        })
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let [stacks, rest @ ..] = &arrays[..] else { return plan_err!("no stack is given") };
        let Some(stacks) = stacks.as_fixed_size_binary_opt() else {
            return plan_err!("{} takes a column of stacks", self.name());
        };
        let places = self.book.places()?;
        let array: ArrayRef = match self.kind {
            Kind::Contains => contains(&places, stacks, &rest[0])?,
            Kind::Frames => {
                let mut array = ListBuilder::new(StringBuilder::new());
                visit(&places, stacks, |found| match found {
                    Some((recording, node)) => {
                        for frame in frames(&recording.profile, node) {
                            array.values().append_value(method_name(recording, frame));
                        }
                        array.append(true);
                    }
                    None => array.append(false),
                });
                Arc::new(array.finish())
            }
            kind => {
                let mut array = StringBuilder::new();
                visit(&places, stacks, |found| {
                    array.append_option(found.and_then(|it| text(kind, it)))
                });
                Arc::new(array.finish())
            }
        };
        Ok(ColumnarValue::Array(array))
    }
}

/// Visits the places of stacks, `None` for null and for stacks of no recording.
fn visit<'a>(
    places: &'a Places,
    stacks: &FixedSizeBinaryArray,
    mut visit: impl FnMut(Option<(&'a Recording, NodeId)>),
) {
    for stack in stacks {
        let id = stack.and_then(|it| it.try_into().ok()).map(StackId);
        visit(id.and_then(|id| places.find(id)));
    }
}

fn contains(
    places: &Places,
    stacks: &FixedSizeBinaryArray,
    patterns: &ArrayRef,
) -> Result<ArrayRef> {
    let patterns = patterns.as_string::<i32>();
    let mut array = BooleanBuilder::with_capacity(stacks.len());
    // Most have one pattern for all stacks.
    let mut known: Option<(String, NamePattern)> = None;
    let mut fault = None;
    let mut row = 0;
    visit(places, stacks, |found| {
        let pattern = patterns.is_valid(row).then(|| patterns.value(row));
        row += 1;
        let Some(((recording, node), pattern)) = found.zip(pattern) else {
            array.append_null();
            return;
        };
        if known.as_ref().is_none_or(|it| it.0 != pattern) {
            let Some(parsed) = NamePattern::new(pattern) else {
                fault.get_or_insert(format!("no pattern of names: '{pattern}'"));
                array.append_null();
                return;
            };
            known = Some((pattern.to_owned(), parsed));
        }
        let is_in = known.as_ref().is_some_and(|(_, pattern)| {
            let profile = &recording.profile;
            profile.tree.frames(node).any(|frame| {
                let method = profile.symbols.get_frame(frame).method;
                pattern.matches_method(&profile.symbols, method)
            })
        });
        array.append_value(is_in);
    });
    match fault {
        Some(fault) => exec_err!("{fault}"),
        None => Ok(Arc::new(array.finish())),
    }
}

fn text(kind: Kind, (recording, node): (&Recording, NodeId)) -> Option<String> {
    let profile = &recording.profile;
    let mut frames = profile.tree.frames(node);
    let frame = if kind == Kind::Root { frames.last()? } else { frames.next()? };
    Some(match kind {
        Kind::Owner => {
            recording.owners().of(profile.symbols.get_frame(frame).method).label().to_owned()
        }
        _ => method_name(recording, frame),
    })
}

fn method_name(recording: &Recording, frame: FrameId) -> String {
    let symbols = &recording.profile.symbols;
    symbols.method_name(symbols.get_frame(frame).method)
}
