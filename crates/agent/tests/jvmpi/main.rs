//! Profilers of JVMPI on real JVMs: libraries in C, which the tests compile, and programs whose events
//! are known by arithmetic.

#![forbid(unsafe_code)]

mod account;
mod class_files;
mod compiled;
mod dumps;
mod everything;
mod faults;
mod gc;
mod instructions;
mod loading;
mod methods;
mod monitors;
mod objects;
mod order;
mod raw_monitors;
mod refs;
mod support;
mod threads;
