//! Profilers of JVMPI on real JVMs: libraries in C, which the tests compile, and programs whose events
//! are known by arithmetic.

#![forbid(unsafe_code)]

mod loading;
mod methods;
mod support;
mod threads;
