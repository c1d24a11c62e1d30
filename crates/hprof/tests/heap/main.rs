//! Heap dumps: those of real JVMs and small ones made here, rewritten, and read by [`Stream`] and
//! by a parser of the text that was written from HPROF's manual.
#![forbid(unsafe_code)]

mod fillers;
mod histogram;
mod little;
mod made;
mod real;
mod support;
mod text;
