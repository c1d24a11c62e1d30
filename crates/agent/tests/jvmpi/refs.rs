//! Global references of native code.

use perk_testkit::jdk;

use crate::objects::{check_order, heap};

#[test]
fn references_of_native_code_are_counted() {
    jdk::each(|jdk| {
        for flags in [&[][..], &["-Xcheck:jni"]] {
            let run = heap(jdk, "r", "references");
            let outcome = flags.iter().fold(run, |run, flag| run.jvm_arg(flag)).run();
            check_order(&outcome);
            assert_eq!(outcome.value("refs"), "400,399,800,799", "{}", outcome.report());
        }
    });
}
