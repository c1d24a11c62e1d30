//! Files of JVMPI's agents: ids as they lie in memory, and sites of objects from before the agent.

use perk_hprof::binary;
use perk_profile::Profile;

use crate::made::u4;

/// The place of a heap of 64 bits, and of one of 32 bits.
const BASES: [(usize, u64); 2] = [(8, 0x7f00_1234_0000), (4, 0x4010_0000)];

/// A file whose ids have one byte order.
struct DumpFile {
    id_bytes: usize,
    is_little: bool,
    bytes: Vec<u8>,
}

impl DumpFile {
    fn new(id_bytes: usize, is_little: bool) -> Self {
        let bytes = [&b"JAVA PROFILE 1.0.1\0"[..], &u4(id_bytes as u32), &[0; 8]].concat();
        Self { id_bytes, is_little, bytes }
    }

    fn id(&self, id: u64) -> Vec<u8> {
        let mut bytes = id.to_be_bytes()[8 - self.id_bytes..].to_vec();
        if self.is_little {
            bytes.reverse();
        }
        bytes
    }

    fn record(&mut self, tag: u8, body: &[u8]) {
        self.bytes.extend([&[tag][..], &u4(0), &u4(body.len() as u32), body].concat());
    }

    fn class(&mut self, serial: u32, id: u64, name: (u64, &str)) {
        self.record(1, &[self.id(name.0), name.1.into()].concat());
        self.record(2, &[&u4(serial)[..], &self.id(id), &u4(0), &self.id(name.0)].concat());
    }
}

/// Returns a dump of `count` instances of a class with an int, each of which an array of up to eight
/// bytes follows.
fn dump((id_bytes, base): (usize, u64), is_little: bool, count: u64) -> Vec<u8> {
    let mut file = DumpFile::new(id_bytes, is_little);
    let (object, class) = (base + 0x10, base + 0x58);
    file.class(1, object, (base + 0x1000, "java.lang.Object"));
    file.class(2, class, (base + 0x2040, "A"));
    let class_dump = |id, superclass, fields: &[u8]| {
        let head = [&[0x20][..], &file.id(id), &u4(0), &file.id(superclass)].concat();
        [&head[..], &vec![0; 5 * id_bytes], &u4(4), &[0, 0, 0, 0], fields].concat()
    };
    let field = [&[0, 1][..], &file.id(base + 0x3000), &[10]].concat();
    let mut body = [class_dump(object, 0, &[0, 0]), class_dump(class, object, &field)].concat();
    for number in 0..count {
        let id = base + 0x1_0000 + 40 * number;
        body.extend([&[0x21][..], &file.id(id), &u4(0), &file.id(class), &u4(4)].concat());
        body.extend(u4(number as u32));
        let length = 1 + number as usize % 8;
        body.extend([&[0x23][..], &file.id(id + 16), &u4(0), &u4(length as u32), &[8]].concat());
        body.resize(body.len() + length, 7);
    }
    file.record(0x0C, &body);
    file.bytes
}

#[test]
fn sizes_do_not_depend_on_the_byte_order_of_ids() {
    for base in BASES {
        for is_little in [false, true] {
            let profile = binary::read(&dump(base, is_little, 1000)[..]).unwrap();
            let heap = profile.heaps().next().unwrap();
            let layout = heap.layout.unwrap();
            let row = |row: &perk_profile::HeapClassRow| {
                let name = profile.symbols.class_name(row.class).to_owned();
                (name, row.instance_count, row.shallow_bytes)
            };
            let mut rows: Vec<_> = heap.rows.iter().map(row).collect();
            rows.sort();
            let expected = [("A", 1000, 16_000), ("byte[]", 1000, 24_000)];
            let expected = expected.map(|(name, count, bytes)| (name.to_owned(), count, bytes));
            assert_eq!(rows, expected, "{base:x?}, little-endian: {is_little}");
            assert!(layout.is_inferred && layout.alignment_bytes == 8, "{layout:?}");
        }
    }
}

/// Returns a file with the record of this tag, whose row names a trace that no record gives.
fn row(tag: u8, trace: u32) -> Result<Profile, perk_hprof::Error> {
    let mut file = DumpFile::new(8, false);
    file.class(1, 0x100, (1, "A"));
    let body = match tag {
        6 => {
            let head = [&[0, 0][..], &u4(0), &u4(24), &u4(1), &[0; 16], &u4(1)].concat();
            [&head[..], &[0], &u4(1), &u4(trace), &u4(24), &u4(1), &u4(24), &u4(1)].concat()
        }
        _ => [u4(3), u4(1), u4(3), u4(trace)].concat(),
    };
    file.record(tag, &body);
    binary::read(&file.bytes[..])
}

#[test]
fn trace_0_is_empty() {
    let profile = row(6, 0).unwrap();
    let sites = profile.sites().unwrap();
    assert_eq!(sites.rows.len(), 1);
    let trace = profile.get_trace(sites.rows[0].trace);
    assert_eq!((trace.serial, trace.node), (0, profile.tree.root()));
    assert_eq!(sites.rows[0].objects.live_bytes, 24);
    assert!(row(0x0D, 0).is_ok());
    for tag in [6, 0x0D] {
        let error = row(tag, 7).unwrap_err().to_string();
        assert!(error.contains("a row names trace 7, which no record gives"), "{error}");
    }
}
