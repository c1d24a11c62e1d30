//! Which probes go where in a class: at a method's entry and exits, around calls that cannot be
//! seen from inside, at allocations, and the fields that perk adds to classes of the JVM.
#![forbid(unsafe_code)]
