//! The bars: what JVMPI may cost.

/// A measured value, and the most that it may be.
pub(super) struct Bar {
    /// What is measured, for the table.
    pub(super) what: &'static str,
    /// The name under which runs note the value.
    pub(super) name: &'static str,
    /// The amount of the noted value that the table shows as 1.
    pub(super) unit: f64,
    /// The most that the value may be, in units; `None` for values that explain others.
    pub(super) most: Option<f64>,
    pub(super) decimals: usize,
}

const NS: f64 = 1.0;
const US: f64 = 1e3;
const MB: f64 = 1e6;

/// The values of runs that `--only` names together.
pub(super) struct Group {
    pub(super) name: &'static str,
    pub(super) bars: &'static [Bar],
}

/// All groups, in the order of the table.
pub(super) const GROUPS: [Group; 5] = [
    Group {
        name: "javac",
        bars: &[
            bar("javac, LIB, ratio", "javac LIB ratio", 1.0, 1.02, 3),
            bar("javac, -Xrun, ratio", "javac -Xrun ratio", 1.0, 1.05, 3),
            other("javac, bare again, ratio", "javac bare ratio", 1.0, 3),
            bar("javac, C1 only, LIB, ratio", "javac, C1 only LIB ratio", 1.0, 1.02, 3),
            bar("javac, C1 only, -Xrun, ratio", "javac, C1 only -Xrun ratio", 1.0, 1.05, 3),
            other("javac, C1 only, bare again, ratio", "javac, C1 only bare ratio", 1.0, 3),
        ],
    },
    Group {
        name: "hello",
        bars: &[
            other("hello world, bare, s", "hello bare", 1.0, 3),
            bar("hello world, LIB, s more", "hello LIB more", 1.0, 0.02, 3),
            bar("hello world, -Xrun, s more", "hello -Xrun more", 1.0, 0.10, 3),
            other("hello world, bare again, s more", "hello bare more", 1.0, 3),
        ],
    },
    Group {
        name: "speed",
        bars: &[
            bar("METHOD_ENTRY, ns", "METHOD_ENTRY", NS, 25.0, 1),
            bar("METHOD_EXIT, ns", "METHOD_EXIT", NS, 25.0, 1),
            bar("METHOD_ENTRY and METHOD_EXIT, ns", "both", NS, 50.0, 1),
            bar("METHOD_ENTRY2, ns", "METHOD_ENTRY2", NS, 450.0, 0),
            other("the call without, ns", "METHOD_ENTRY.without", NS, 1),
            bar("OBJECT_ALLOC, µs", "OBJECT_ALLOC", US, 1.5, 2),
            other("the allocation without, ns", "OBJECT_ALLOC.without", NS, 1),
            bar("GetCallTrace, 4 frames, µs", "GetCallTrace", US, 1.2, 2),
            bar("RawMonitorEnter and RawMonitorExit, ns", "RawMonitor", NS, 60.0, 1),
            bar("DisableGC and EnableGC, ns", "DisableGC", NS, 40.0, 1),
            bar("GetThreadLocalStorage, ns", "GetThreadLocalStorage", NS, 15.0, 1),
            bar("RequestEvent of OBJECT_ALLOC, µs", "RequestEvent", US, 2.0, 2),
        ],
    },
    Group {
        name: "dumps",
        bars: &[
            bar("HEAP_DUMP of level 0, µs an object", "dump 0 ns", US, 1.5, 2),
            bar("HEAP_DUMP of level 2, µs an object", "dump 2 ns", US, 3.0, 2),
            bar(
                "memory beyond the dump of level 0, bytes an object",
                "dump 0 memory",
                1.0,
                100.0,
                0,
            ),
            bar(
                "memory beyond the dump of level 2, bytes an object",
                "dump 2 memory",
                1.0,
                100.0,
                0,
            ),
            other("the dump of level 0, bytes an object", "dump 0 bytes", 1.0, 0),
            other("the dump of level 2, bytes an object", "dump 2 bytes", 1.0, 0),
        ],
    },
    Group { name: "size", bars: &[bar("libperk.so, MB", "size", MB, 2.0, 2)] },
];

const fn bar(what: &'static str, name: &'static str, unit: f64, most: f64, decimals: usize) -> Bar {
    Bar { what, name, unit, most: Some(most), decimals }
}

const fn other(what: &'static str, name: &'static str, unit: f64, decimals: usize) -> Bar {
    Bar { what, name, unit, most: None, decimals }
}
