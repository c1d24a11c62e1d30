//! Reads class files, and splices code into their methods.
//!
//! This is a splicer, not a model: [`ClassFile::parse`] finds the parts of a file, [`ClassEditor`]
//! copies them and rewrites only the `Code` of edited methods. In such code, branches, switches,
//! exception tables, line numbers, local variables, frames and type annotations are adjusted;
//! frames are shifted and never computed. Methods that cannot be handled are left as they are and
//! reported. The crate does not depend on the purpose of the inserted code.
//!
//! [`Code::initializations`] finds the calls of constructors, for inserted code that uses objects.
//!
//! "JVM specification" in this crate is *The Java Virtual Machine Specification, Java SE 25
//! Edition*.
//!
//! ```
//! use perk_classfile::{ClassEditor, ClassFile, MethodEdit, Reach, opcode};
//!
//! /// Calls `Counter.count()` once for each call of each method.
//! fn count_calls(class_file: &[u8]) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
//!     let class = ClassFile::parse(class_file)?;
//!     let mut editor = ClassEditor::new(&class);
//!     let [high, low] = editor.pool().method_ref("Counter", "count", "()V")?.to_be_bytes();
//!     let mut edit = MethodEdit::new();
//!     for (index, method) in class.methods().enumerate() {
//!         if method.code()?.is_some() {
//!             edit.clear();
//!             edit.insert(0, Reach::FallThrough, &[opcode::INVOKESTATIC, high, low]);
//!             editor.edit_method(index, &edit);
//!         }
//!     }
//!     Ok(editor.finish().bytes)
//! }
//! ```
#![forbid(unsafe_code)]

mod class;
mod code;
mod edit;
mod editor;
mod error;
mod frames;
mod instruction;
pub mod opcode;
mod pool;
mod pool_editor;
mod reader;
mod splice;
mod this_call;
mod uninitialized;

pub use class::{Attribute, Attributes, ClassFile, Member, access};
pub use code::{Code, Handler, LineNumber, MAX_CODE_BYTES};
pub use edit::{LocalType, MethodEdit, Reach};
pub use editor::{ClassEdit, ClassEditor};
pub use error::{Error, PoolError, SkipReason, SkippedMethod};
pub use instruction::{Instruction, Instructions, Operands, Switch, access_bytes, push_access};
pub use pool::{ConstantPool, MemberRef, tag};
pub use pool_editor::PoolEditor;
pub use uninitialized::{EarlyWrite, Initialization, Initializations, Place, UninitializedObject};
