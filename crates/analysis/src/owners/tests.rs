use super::*;
use crate::fixture::{method, samples};
use perk_profile::{Accounting, Frame};

/// The owners of the methods of a profile with these stacks, in their order of appearance.
fn owners(stacks: &[&str]) -> (Vec<(String, Owner)>, Vec<String>) {
    of(&samples(&stacks.iter().map(|&stack| (stack, 1)).collect::<Vec<_>>()))
}

fn of(profile: &Profile) -> (Vec<(String, Owner)>, Vec<String>) {
    let owners = Owners::new(profile);
    let methods = (0..profile.symbols.method_count()).map(MethodId::new);
    let row = |method| (profile.symbols.method_name(method), owners.of(method));
    (methods.map(row).collect(), owners.app().to_vec())
}

fn check(stacks: &[&str], app: &[&str], yours: &[&str]) {
    let (rows, names) = owners(stacks);
    assert_eq!(names, app);
    let mut found: Vec<_> =
        rows.iter().filter(|row| row.1 == Owner::Yours).map(|row| row.0.as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, yours);
}

#[test]
fn the_package_of_the_main_class_is_the_programs() {
    check(
        &[
            "java.util.TimSort.sort<com.acme.util.Sorter.sort<com.acme.shop.Main.main",
            "org.h2.Driver.connect<com.acme.db.Pool.get<java.lang.Thread.run",
            "net.other.Thing.work<com.acmecorp.X.y<com.acme.shop.Main.main",
        ],
        &["com.acme.*"],
        &["com.acme.db.Pool.get", "com.acme.shop.Main.main", "com.acme.util.Sorter.sort"],
    );
}

#[test]
fn launchers_do_not_own_the_program() {
    let reflection = "java.lang.reflect.Method.invoke<org.springframework.boot.loader.Launcher.launch\
                      <org.springframework.boot.loader.JarLauncher.main";
    check(
        &[&format!("com.acme.App.run<com.acme.App.main<{reflection}")],
        &["com.acme.*"],
        &["com.acme.App.main", "com.acme.App.run"],
    );
    // Tests have no main of their own: all that no library is known to have.
    check(
        &[
            "de.shop.CartTest.adds<org.junit.Runner.run<org.apache.maven.surefire.booter.Booter.main",
        ],
        &[],
        &["de.shop.CartTest.adds"],
    );
    // The main of a library that the program calls is not the program's.
    check(
        &["org.tool.Main.main<com.acme.App.run<com.acme.App.main"],
        &["com.acme.*"],
        &["com.acme.App.main", "com.acme.App.run"],
    );
}

#[test]
fn a_part_of_the_jdk_and_a_library_are_programs_if_they_are_run() {
    let (rows, app) = owners(&[
        "java.util.HashMap.get<com.sun.tools.javac.comp.Attr.visit<com.sun.tools.javac.Main.main",
        "com.sun.net.httpserver.X.y<com.sun.tools.javac.Main.main",
    ]);
    assert_eq!(app, ["com.sun.tools.javac.*"]);
    let owner = |name: &str| rows.iter().find(|row| row.0 == name).unwrap().1;
    assert_eq!(owner("com.sun.tools.javac.comp.Attr.visit"), Owner::Yours);
    assert_eq!(owner("com.sun.net.httpserver.X.y"), Owner::Jdk);
    check(
        &["org.h2.mvstore.X.y<org.h2.tools.Shell.main"],
        &["org.h2.*"],
        &["org.h2.mvstore.X.y", "org.h2.tools.Shell.main"],
    );
    check(
        &["org.apache.commons.X.y<org.apache.lucene.A.b<org.apache.lucene.demo.Main.main"],
        &["org.apache.lucene.*"],
        &["org.apache.lucene.A.b", "org.apache.lucene.demo.Main.main"],
    );
}

#[test]
fn programs_without_a_company_have_all_that_is_not_known() {
    check(
        &["util.Fast.go<Main.main", "com.google.gson.Gson.toJson<Main.main", "$Proxy7.f<Main.main"],
        &[],
        &["Main.main", "util.Fast.go"],
    );
}

#[test]
fn patterns_and_packages_decide() {
    let stacks = [("net.lib.A.f<com.acme.B.g<com.acme.Main.main", 1), ("lone.C.h<com.acme.B.g", 1)];
    let mut profile = samples(&stacks);
    profile.accounting = Some(Accounting { packages: "lone.*; *".into(), ..Accounting::default() });
    assert_eq!(of(&profile).1, ["*", "com.acme.*", "lone.*"]);
    profile.accounting = Some(Accounting { app: "net.lib.*".into(), ..Accounting::default() });
    let yours = |profile: &Profile| {
        let rows = of(profile).0.into_iter().filter(|row| row.1 == Owner::Yours);
        rows.map(|row| row.0).collect::<Vec<_>>()
    };
    assert_eq!(yours(&profile), ["net.lib.A.f"]);
    profile.app = vec![NamePattern::new("com.acme.B").unwrap()];
    assert_eq!(yours(&profile), ["com.acme.B.g"]);
}

#[test]
fn native_code_is_the_jvms() {
    let mut profile = samples(&[("java.lang.Thread.run", 1)]);
    let id = method(&mut profile, ".memcpy");
    profile.symbols.frame(Frame::new(id, Line::Native));
    assert_eq!(Owners::new(&profile).of(id), Owner::Jvm);
    // A function of another language has no class either.
    let mut other = Profile::default();
    let work = method(&mut other, ".work");
    other.symbols.frame(Frame::new(work, Line::Unknown));
    let group = method(&mut other, ".[idle]");
    assert_eq!(Owners::new(&other).of(work), Owner::Yours);
    assert_eq!(Owners::new(&other).of(group), Owner::Jvm);
}

#[test]
fn the_nearest_frame_is_the_innermost_of_the_program() {
    let profile = samples(&[("java.util.A.b<com.acme.Main.f<com.acme.Main.main", 1)]);
    let owners = Owners::new(&profile);
    let trace = profile.traces().len() - 1;
    let frame = owners.nearest(&profile, TraceId::new(trace)).unwrap();
    let method = profile.symbols.get_frame(frame).method;
    assert_eq!(profile.symbols.method_name(method), "com.acme.Main.f");
}
