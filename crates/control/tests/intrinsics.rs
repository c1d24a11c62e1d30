//! The intrinsics of each version, and the page about them.

#![forbid(unsafe_code)]

use std::path::Path;

use perk_control::intrinsics::{CodeMetric, jvm_options, markdown, names};

#[test]
fn only_versions_that_are_known_have_options() {
    for counted in [CodeMetric::Accesses, CodeMetric::Bytecodes] {
        for version in [17, 18, 21, 25] {
            assert!(names(version, counted).count() > 50, "{version}");
            let [unlock, off, crc] = &jvm_options(version, counted)[..] else {
                panic!("{version}")
            };
            assert_eq!(unlock, "-XX:+UnlockDiagnosticVMOptions");
            assert!(off.starts_with("-XX:DisableIntrinsic=_"), "{off}");
            assert_eq!(crc, "-XX:-UseCRC32CIntrinsics");
        }
        assert_eq!(jvm_options(16, counted), [""; 0]);
        assert_eq!(jvm_options(26, counted), [""; 0]);
    }
}

#[test]
fn intrinsics_md_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/intrinsics.md");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, markdown()).unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == markdown(), "run: UPDATE_EXPECT=1 cargo test -p perk-control");
}
