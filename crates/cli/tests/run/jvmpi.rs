//! `perk run --jvmpi` and `--xrun`, with a profiler that is compiled with `perk agent-path --include`.

use std::path::PathBuf;
use std::process::Command;

use perk_testkit::{jdk, workspace};

use super::{perk_run, work};
use crate::util::{Folder, stderr, stdout};

/// Compiles the profiler into the folder, as docs/jvmpi.md says.
fn profiler(folder: &Folder) -> PathBuf {
    let include = stdout(&folder.run(&["agent-path", "--include"]));
    let java = jdk::compiler().home.join("include");
    let library = folder.join("libstarts.so");
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", "-I", include.trim_end(), "-I"]).arg(&java);
    command.arg("-I").arg(java.join("linux")).arg("-o").arg(&library);
    let source = workspace().join("crates/agent/tests/jvmpi/agents/starts.c");
    let output = command.arg(source).output().expect("the C compiler starts");
    assert!(output.status.success(), "{}", stderr(&output));
    library
}

#[test]
fn perk_or_the_jvm_loads_a_profiler() {
    let folder = Folder::new();
    let library = profiler(&folder);
    let by_perk = "./libstarts.so=a=1,b";
    jdk::each(|jdk| {
        let output = perk_run(&folder, &["--jvmpi", by_perk], &work(jdk, &["100", "exit", "3"]));
        let (text, errors) = (stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(3), "{errors}");
        assert!(text.contains("options=a=1,b\n") && text.contains("shut.down=1\n"), "{text}");
        assert!(errors.starts_with("perk: JVMPI events that the profiler was sent\n"), "{errors}");
        assert!(errors.contains(" THREAD_START\n"), "{errors}");

        let mut command = work(jdk, &["100"]);
        command.insert(1, format!("-Xrunstarts:x={}", library.display()));
        let variable = format!("LD_LIBRARY_PATH={}", folder.path().display());
        command.splice(0..0, ["env".to_owned(), variable]);
        let output = perk_run(&folder, &["-q", "--xrun"], &command);
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(text.contains("options=x=/") && text.contains("shut.down=1\n"), "{text}");
        assert!(!stderr(&output).contains("JVMPI events"), "{}", stderr(&output));
    });
    assert_eq!(folder.names(), ["libstarts.so"]);
}

#[test]
fn what_has_no_effect_is_refused() {
    let folder = Folder::new();
    folder.file("empty.so", "");
    for (options, reason) in [
        (
            &["--jvmpi", "foo", "--xrun"][..],
            "with --jvmpi perk loads the library, with --xrun the JVM does",
        ),
        (&["--jvmpi", "foo", "--cpu", "samples"], "leave out --cpu"),
        (&["--xrun", "--locks"], "leave out --locks"),
        (&["--jvmpi", "foo", "-o", "a.txt"], "leave out -o"),
        (&["--methods", "vm"], "work only with --jvmpi or --xrun"),
        (&["--jvmpi", "./missing.so"], "--jvmpi ./missing.so: No such file"),
        (&["--jvmpi", "=a"], "needs the name of a library"),
    ] {
        let output = perk_run(&folder, options, &["java".to_owned(), "-version".to_owned()]);
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(reason) && errors.lines().count() == 1, "{options:?}: {errors}");
    }
    let command = work(jdk::compiler(), &["100"]);
    let output = perk_run(&folder, &["--jvmpi", "./empty.so"], &command);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let errors = stderr(&output);
    assert!(errors.contains("empty.so: ") && errors.contains("it is not a library"), "{errors}");
}
