//! A builder that makes recordings byte by byte.

/// The ids of the types that every recording here has.
pub(crate) const LONG: i64 = 10;
pub(crate) const INT: i64 = 11;
pub(crate) const BOOLEAN: i64 = 12;
pub(crate) const STRING: i64 = 13;
pub(crate) const SYMBOL: i64 = 14;
pub(crate) const CLASS: i64 = 15;
pub(crate) const METHOD: i64 = 16;
pub(crate) const FRAME: i64 = 17;
pub(crate) const STACK: i64 = 18;
pub(crate) const THREAD: i64 = 19;
pub(crate) const FRAME_TYPE: i64 = 20;
pub(crate) const STATE: i64 = 21;
pub(crate) const TIMESPAN: i64 = 22;

/// A field: name, type, and the form of its value.
pub(crate) type BuildField = (&'static str, i64, FieldValue);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldValue {
    Inline,
    Pooled,
    Array,
    PooledArray,
    /// A time in milliseconds.
    Millis,
}
use FieldValue::{Array, Inline, Millis, Pooled};

/// The bytes of a chunk's numbers and strings.
#[derive(Clone, Default)]
pub(crate) struct ByteBuilder {
    pub(crate) bytes: Vec<u8>,
    is_plain: bool,
}

impl ByteBuilder {
    pub(crate) fn of(chunk: &ChunkBuilder) -> Self {
        Self { bytes: Vec::new(), is_plain: chunk.is_plain }
    }

    pub(crate) fn byte(mut self, byte: u8) -> Self {
        self.bytes.push(byte);
        self
    }

    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub(crate) fn int(self, value: i32) -> Self {
        if self.is_plain {
            return self.raw(&value.to_be_bytes());
        }
        self.compressed(u64::from(value.cast_unsigned()))
    }

    pub(crate) fn long(self, value: i64) -> Self {
        if self.is_plain {
            return self.raw(&value.to_be_bytes());
        }
        self.compressed(value.cast_unsigned())
    }

    fn compressed(mut self, mut value: u64) -> Self {
        for _ in 0..8 {
            if value < 0x80 {
                return self.byte(value as u8);
            }
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8)
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.byte(3).int(text.len() as i32).raw(text.as_bytes())
    }
}

/// A chunk under construction.
#[derive(Clone, Default)]
pub(crate) struct ChunkBuilder {
    /// Whether numbers are not compressed.
    pub(crate) is_plain: bool,
    /// Whether it ends as a killed JVM leaves it: neither its size nor its end are written.
    pub(crate) is_unfinished: bool,
    /// Whether it has no metadata.
    pub(crate) is_untyped: bool,
    /// Whether it is of version 1, as of JDK 9.
    pub(crate) is_old: bool,
    types: Vec<(i64, String, Vec<BuildField>)>,
    /// The constants: their type and key, and the value.
    pools: Vec<(i64, i64, Vec<u8>)>,
    events: Vec<Vec<u8>>,
}

impl ChunkBuilder {
    /// Creates a chunk with the JDK's types of stacks and threads, and these constants: thread 1
    /// `main`, thread 2 virtual and without a name; stack 1 `a.B.main > a.B.leaf` (line 7, native),
    /// stack 2 `a.B.main`, truncated; class 1 `a.B`, class 2 `[I`, class 3 of a `ReentrantLock`.
    pub(crate) fn new(is_plain: bool) -> Self {
        let mut chunk = ChunkBuilder { is_plain, ..ChunkBuilder::default() };
        for (id, name) in [(LONG, "long"), (INT, "int"), (BOOLEAN, "boolean")] {
            chunk.add_type(id, name, &[]);
        }
        chunk.add_type(STRING, "java.lang.String", &[]);
        chunk.add_type(TIMESPAN, "jdk.jfr.Timespan", &[]);
        chunk.add_type(SYMBOL, "jdk.types.Symbol", &[("string", STRING, Inline)]);
        chunk.add_type(FRAME_TYPE, "jdk.types.FrameType", &[("description", STRING, Inline)]);
        chunk.add_type(STATE, "jdk.types.ThreadState", &[("name", STRING, Inline)]);
        chunk.add_type(CLASS, "java.lang.Class", &[("name", SYMBOL, Pooled)]);
        let method = [
            ("type", CLASS, Pooled),
            ("name", SYMBOL, Pooled),
            ("descriptor", SYMBOL, Pooled),
            ("hidden", BOOLEAN, Inline),
        ];
        chunk.add_type(METHOD, "jdk.types.Method", &method);
        let frame = [
            ("method", METHOD, Pooled),
            ("lineNumber", INT, Inline),
            ("bytecodeIndex", INT, Inline),
            ("type", FRAME_TYPE, Pooled),
        ];
        chunk.add_type(FRAME, "jdk.types.StackFrame", &frame);
        let stack = [("truncated", BOOLEAN, Inline), ("frames", FRAME, Array)];
        chunk.add_type(STACK, "jdk.types.StackTrace", &stack);
        let thread = [
            ("osName", STRING, Inline),
            ("osThreadId", LONG, Inline),
            ("javaName", STRING, Inline),
            ("javaThreadId", LONG, Inline),
            ("virtual", BOOLEAN, Inline),
        ];
        chunk.add_type(THREAD, "java.lang.Thread", &thread);
        let b = || ByteBuilder::of(&ChunkBuilder { is_plain, ..ChunkBuilder::default() });
        let symbols = ["a/B", "[I", "main", "leaf", "()V", LOCK_CLASS];
        for (key, symbol) in (1..).zip(symbols) {
            chunk.constant(SYMBOL, key, b().text(symbol));
        }
        for (key, symbol) in [(1, 1), (2, 2), (3, 6)] {
            chunk.constant(CLASS, key, b().long(symbol));
        }
        for (key, name) in [(1, 3), (2, 4)] {
            chunk.constant(METHOD, key, b().long(1).long(name).long(5).byte(0));
        }
        for (key, name) in [(1, "Interpreted"), (2, "Native")] {
            chunk.constant(FRAME_TYPE, key, b().text(name));
        }
        for (key, name) in [(1, "STATE_RUNNABLE"), (2, "STATE_SLEEPING")] {
            chunk.constant(STATE, key, b().text(name));
        }
        let leaf = b().byte(0).int(2).long(2).int(-1).int(0).long(2).long(1).int(7).int(3).long(1);
        chunk.constant(STACK, 1, leaf);
        chunk.constant(STACK, 2, b().byte(1).int(1).long(1).int(7).int(3).long(1));
        chunk.constant(THREAD, 1, b().text("main").long(100).text("main").long(1).byte(0));
        chunk.constant(THREAD, 2, b().byte(0).long(0).byte(1).long(33).byte(1));
        chunk
    }

    pub(crate) fn add_type(&mut self, id: i64, name: &str, fields: &[BuildField]) {
        self.types.push((id, name.to_owned(), fields.to_vec()));
    }

    pub(crate) fn constant(&mut self, type_id: i64, key: i64, value: ByteBuilder) {
        self.pools.push((type_id, key, value.bytes));
    }

    pub(crate) fn event(&mut self, type_id: i64, fields: ByteBuilder) {
        let event = self.framed(type_id, fields);
        self.events.push(event);
    }

    /// Returns an event with its size in front. The size includes itself.
    fn framed(&self, type_id: i64, fields: ByteBuilder) -> Vec<u8> {
        let body = ByteBuilder::of(self).long(type_id).raw(&fields.bytes).bytes;
        let mut size = body.len() + 1;
        loop {
            let head = ByteBuilder::of(self).int(size as i32).bytes;
            if head.len() + body.len() == size {
                return [head, body].concat();
            }
            size = head.len() + body.len();
        }
    }

    /// Returns the chunk: constants after the events, metadata last.
    pub(crate) fn finish(&self) -> Vec<u8> {
        let mut bytes = b"FLR\0\0\x02\0\x01".to_vec();
        let ticks_per_second = 1_000_000_i64;
        // Size, constants, metadata; start and duration in ns; start in ticks, ticks per second.
        for number in [0, 0, 0, 1_700_000_000_123_000_000, 5, 77, ticks_per_second] {
            bytes.extend(i64::to_be_bytes(number));
        }
        bytes.extend([u8::from(self.is_unfinished), 0, 0, u8::from(!self.is_plain)]);
        self.events.iter().for_each(|event| bytes.extend(event));
        // There are two checkpoints, and the constants are divided between them.
        for half in 0..2 {
            let pools: Vec<_> = self.pools.iter().skip(half).step_by(2).collect();
            let mut body =
                ByteBuilder::of(self).long(80).long(0).long(0).byte(0).int(pools.len() as i32);
            for (type_id, key, value) in pools {
                body = body.long(*type_id).int(1).long(*key).raw(value);
            }
            bytes.extend(self.framed(1, body));
        }
        if !self.is_untyped {
            bytes.extend(self.framed(0, self.metadata()));
        }
        if self.is_old {
            bytes[5] = 1;
            bytes[7] = 0;
        }
        if !self.is_unfinished {
            let size = bytes.len() as u64;
            bytes[8..16].copy_from_slice(&size.to_be_bytes());
        }
        bytes
    }

    fn metadata(&self) -> ByteBuilder {
        let mut strings: Vec<String> = Vec::new();
        let mut tree = ByteBuilder::of(self);
        let mut string = |text: &str| {
            let at = strings.iter().position(|it| it == text);
            at.unwrap_or_else(|| {
                strings.push(text.to_owned());
                strings.len() - 1
            }) as i32
        };
        tree = tree.int(string("root")).int(0).int(2);
        tree = tree.int(string("metadata")).int(0).int(self.types.len() as i32);
        for (id, name, fields) in &self.types {
            let name = if self.is_old { &old_name(name) } else { name };
            tree = tree.int(string("class")).int(2);
            tree = tree.int(string("id")).int(string(&id.to_string()));
            tree = tree.int(string("name")).int(string(name)).int(fields.len() as i32);
            for &(name, type_id, how) in fields {
                let is_pooled = matches!(how, Pooled | FieldValue::PooledArray);
                let is_array = matches!(how, Array | FieldValue::PooledArray);
                tree =
                    tree.int(string("field")).int(2 + i32::from(is_pooled) + i32::from(is_array));
                tree = tree.int(string("name")).int(string(name));
                tree = tree.int(string("class")).int(string(&type_id.to_string()));
                if is_pooled {
                    tree = tree.int(string("constantPool")).int(string("true"));
                }
                if is_array {
                    tree = tree.int(string("dimension")).int(string("1"));
                }
                tree = tree.int(i32::from(how == Millis));
                if how == Millis {
                    tree = tree.int(string("annotation")).int(2);
                    tree = tree.int(string("class")).int(string(&TIMESPAN.to_string()));
                    tree = tree.int(string("value")).int(string("MILLISECONDS")).int(0);
                }
            }
        }
        tree = tree.int(string("region")).int(1);
        tree = tree.int(string("gmtOffset")).int(string("3600000")).int(0);
        let mut body = ByteBuilder::of(self).long(90).long(0).long(1).int(strings.len() as i32);
        for text in &strings {
            body = body.text(text);
        }
        body.raw(&tree.bytes)
    }
}

/// Returns the name of a type in JDK 9.
fn old_name(name: &str) -> String {
    match (
        name.strip_prefix("jdk.types."),
        name.strip_prefix("jdk.jfr."),
        name.strip_prefix("jdk."),
    ) {
        (Some(rest), ..) => format!("com.oracle.jfr.types.{rest}"),
        (_, Some(rest), _) => format!("com.oracle.jfr.{rest}"),
        (.., Some(rest)) => format!("com.oracle.jdk.{rest}"),
        _ => name.to_owned(),
    }
}

/// The class of constant 3.
pub(crate) const LOCK_CLASS: &str = "java/util/concurrent/locks/ReentrantLock$NonfairSync";
