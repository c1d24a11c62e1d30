//! JVMPI's header and types against the layout that headers of its time have.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use perk_jvmti_sys::jvmpi::LAYOUT;
use perk_jvmti_sys::jvmpi::table::CONSTANTS;
use perk_testkit::{jdk, workspace};

/// The names and numbers of `testdata/jvmpi/layout.txt`.
fn expected() -> Vec<(String, i64)> {
    let text = std::fs::read_to_string(workspace().join("testdata/jvmpi/layout.txt")).unwrap();
    let rows = text.lines().map(|line| {
        let (name, number) = line.split_once(' ').expect("a name and a number");
        let number = match number.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16),
            None => number.parse(),
        };
        (name.to_owned(), number.expect("a number"))
    });
    rows.collect()
}

/// Compiles a program with the header, and runs it. Returns its output.
fn run(compiler: &str, options: &[&str], source: &str, folder: &Path) -> String {
    let (file, program) = (folder.join(source), folder.join("program"));
    let java = jdk::compiler().home.join("include");
    let mut command = Command::new(compiler);
    command.args(["-Wall", "-Wextra", "-Werror"]).args(options);
    for include in [workspace().join("include"), java.clone(), java.join("linux")] {
        command.arg("-I").arg(include);
    }
    let output = command.arg("-o").arg(&program).arg(&file).output().expect("the compiler starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(program).output().expect("the program starts");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_types_have_the_layout_of_their_time() {
    let constants = CONSTANTS.iter().flat_map(|group| group.constants.iter().copied());
    let layout = LAYOUT.iter().map(|(name, number)| (*name, *number as i64));
    let mut ours: Vec<_> =
        layout.chain(constants).map(|(name, it)| (name.to_owned(), it)).collect();
    let mut expected = expected();
    ours.sort_unstable();
    expected.sort_unstable();
    assert_eq!(ours, expected);
}

#[test]
fn c_and_cplusplus_have_it_too() {
    let mut program = String::from("#include <stddef.h>\n#include <stdio.h>\n#include <jvmpi.h>\n");
    program.push_str("int main(void) {\n");
    let expected = expected();
    for (name, _) in &expected {
        let value = match name.split_once('.') {
            Some((owner, member)) => format!("offsetof({owner}, {member})"),
            None if LAYOUT.iter().any(|(known, _)| known == name) => format!("sizeof({name})"),
            None => name.clone(),
        };
        writeln!(program, "    printf(\"{name} %ld\\n\", (long)({value}));").unwrap();
    }
    program.push_str("    return 0;\n}\n");
    let text: String = expected.iter().map(|(name, it)| format!("{name} {it}\n")).collect();
    let folder = tempfile::tempdir().unwrap();
    for (compiler, standard, source) in [("cc", "c89", "layout.c"), ("c++", "c++98", "layout.cc")] {
        std::fs::write(folder.path().join(source), &program).unwrap();
        let options = [&format!("-std={standard}"), "-pedantic"];
        assert_eq!(run(compiler, &options, source, folder.path()), text, "{standard}");
    }
}

#[test]
fn an_agent_can_have_the_switch_as_documented() {
    let program = "#include <stdio.h>\n#include <jvmpi.h>\nint main(void) {\n    \
                   JVMPI_Event event;\n    event.u.instruction.u.lookupswitch_info.is_default = 1;\n    \
                   printf(\"%d\\n\", event.u.instruction.u.lookupswitch_info.is_default);\n    \
                   return 0;\n}\n";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("switch.c"), program).unwrap();
    let options = ["-std=c89", "-pedantic", "-DJVMPI_DOCUMENT_LOOKUPSWITCH"];
    assert_eq!(run("cc", &options, "switch.c", folder.path()), "1\n");
}
