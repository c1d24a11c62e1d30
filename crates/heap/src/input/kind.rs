//! What a file is, by its first bytes.

use perk_hprof::Format;

use crate::Error;

/// The number of bytes that show what a file is.
pub(super) const HEAD_BYTES: usize = 4096;

/// A form of heap dumps that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputKind {
    /// HPROF binary, of any version.
    Binary,
    /// HPROF text.
    Text,
}

impl InputKind {
    /// Recognises a dump.
    pub(super) fn of(head: &[u8]) -> Result<Self, Error> {
        if head.is_empty() {
            return Err(Error::Refused("it is empty".to_owned()));
        }
        if let Some(what) = other(head) {
            return Err(Error::Refused(what.to_owned()));
        }
        match perk_hprof::recognise(head) {
            Some(Format::Binary | Format::Extended) => Ok(Self::Binary),
            Some(Format::Ascii) => Ok(Self::Text),
            Some(Format::Old) | None => Err(Error::NotDump { head: head.to_vec() }),
        }
    }
}

const JHSDB: &str = "it is a core dump, not a heap dump: `jhsdb jmap --binaryheap --dumpfile x.hprof \
                     --exe JAVA --core FILE` makes one of it, with the jhsdb and java of the JDK that \
                     crashed";

/// Returns the advice for a file that holds a heap in another format, or in packing that is not
/// read.
fn other(head: &[u8]) -> Option<&'static str> {
    const ELF_TYPE_AT: usize = 16;
    let is_core = |at: usize| {
        let kind = head.get(at..at + 2);
        kind.is_some_and(|kind| kind == [4, 0] || kind == [0, 4])
    };
    let packed_by = |tool| match tool {
        "xz" => {
            "it is packed by xz: unpack it with `xz -d` first (.gz and .zst are read as they are)"
        }
        "bzip2" => {
            "it is packed by bzip2: unpack it with `bzip2 -d` first (.gz and .zst are read as they are)"
        }
        "lz4" => {
            "it is packed by lz4: unpack it with `lz4 -d` first (.gz and .zst are read as they are)"
        }
        _ => "it is a zip archive: unpack it first (.gz and .zst are read as they are)",
    };
    Some(match head {
        [_, _, rest @ ..] if rest.starts_with(b"portable heap dump") => {
            "it is a PHD dump of OpenJ9, which perk does not read: Eclipse MAT with the DTFJ plug-in \
             opens it and exports HPROF"
        }
        _ if head.starts_with(b"// Version:") => {
            "it is a classic heap dump of OpenJ9, which perk does not read: Eclipse MAT with the DTFJ \
             plug-in opens it and exports HPROF"
        }
        _ if head.starts_with(b"\x7FELF") && is_core(ELF_TYPE_AT) => JHSDB,
        _ if head.starts_with(b"MDMP") => JHSDB,
        // Mach-O of 64 bits, little endian: the type follows magic, CPU and its variant.
        _ if head.starts_with(b"\xCF\xFA\xED\xFE") && is_core(12) => JHSDB,
        _ if head.starts_with(b"{\"snapshot\"") => {
            "it is a heap snapshot of V8 (Node.js, Chrome), which perk does not read"
        }
        _ if head.starts_with(b"\xFD7zXZ\0") => packed_by("xz"),
        _ if head.starts_with(b"BZh") => packed_by("bzip2"),
        _ if head.starts_with(b"\x04\x22\x4D\x18") => packed_by("lz4"),
        _ if head.starts_with(b"PK\x03\x04") => packed_by("zip"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell_what_to_do() {
        let mut elf = b"\x7FELF\x02\x01\x01".to_vec();
        elf.resize(16, 0);
        let core = [&elf[..], &[4, 0]].concat();
        let program = [&elf[..], &[2, 0]].concat();
        for (head, part) in [
            (&b""[..], "empty"),
            (b"\0\x12portable heap dump\0", "PHD"),
            (b"// Version: JRE 1.8.0", "classic"),
            (&core, "core dump"),
            (b"MDMP\x93\xA7", "core dump"),
            (b"\xCF\xFA\xED\xFE\x07\0\0\x01\x03\0\0\0\x04\0\0\0", "core dump"),
            (b"{\"snapshot\":{", "V8"),
            (b"\xFD7zXZ\0\0", "xz -d"),
            (b"BZh91AY", "bzip2 -d"),
            (b"\x04\x22\x4D\x18", "lz4 -d"),
            (b"PK\x03\x04", "zip"),
            (&program, "it is not a heap dump: it begins with \"\\x7fELF"),
            (b"FLR\0", "it is not a heap dump: it begins with \"FLR\\x00\""),
        ] {
            let message = InputKind::of(head).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
            assert!(!message.contains('\n'));
        }
        assert_eq!(InputKind::of(b"JAVA PROFILE 1.0.3\0\0\0\0\x04").unwrap(), InputKind::Binary);
        assert_eq!(InputKind::of(b"JAVA PROFILE 1.0.1, created").unwrap(), InputKind::Text);
    }
}
