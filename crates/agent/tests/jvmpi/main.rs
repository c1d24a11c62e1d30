//! Profilers of JVMPI on real JVMs: libraries in C, which the tests compile, and programs whose events
//! are known by arithmetic.

#![forbid(unsafe_code)]

mod dumps;
mod loading;
mod methods;
mod monitors;
mod raw_monitors;
mod support;
mod threads;
