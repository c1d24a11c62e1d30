//! The commands, the Dockerfiles and the pods of docs/containers.md, as they stand there.

mod runtime;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use perk_testkit::{fixture, jdk};

use crate::util::{Folder, assert_refused, perk_for_all, stderr, stdout};
use runtime::{DEFAULT_CAPABILITIES, Machine, Spec, can_run};

/// The user of the pods.
const USER: u32 = 1000;

/// A service that works until it is stopped. With an argument it first runs another JVM.
const SERVICE: &str = r#"
    public class Service {
        static volatile long sum;
        public static void main(String[] args) throws Exception {
            if (args.length > 0) {
                String java = System.getProperty("java.home") + "/bin/java";
                int code = new ProcessBuilder(java, "--version").start().waitFor();
                System.out.println("child ended with " + code);
            }
            Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("bye")));
            System.out.println("ready");
            for (int i = 0; ; i++) {
                work();
                if (i == 30) System.out.println("has worked");
            }
        }
        static void work() {
            for (int i = 0; i < 2_000_000; i++) sum += i ^ sum;
        }
    }"#;

/// A block of the page, without the line of its name: `# NAME`, `# NAME: ...`.
fn block(language: &str, name: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/containers.md");
    let page = fs::read_to_string(page).unwrap();
    let begin = format!("```{language}\n# {name}");
    let blocks = page.split(&begin).skip(1);
    let texts: Vec<_> = blocks.map(|it| it.split_once("```\n").unwrap().0).collect();
    let [text] = texts[..] else { panic!("{} blocks are named {name}", texts.len()) };
    text.split_once('\n').unwrap().1.to_owned()
}

/// A script of the page, with recordings of a second.
fn script(name: &str) -> String {
    let script = block("sh", name);
    assert!(script.contains("--duration 30s"), "{script}");
    script.replace("--duration 30s", "--duration 1s")
}

/// What a Dockerfile of the page says of its image. Its files come from `folder`.
fn image(folder: &Folder, name: &str) -> Spec {
    let mut spec = Spec::default();
    let text = block("dockerfile", name);
    for line in text.lines() {
        let (instruction, value) = line.split_once(' ').unwrap();
        match instruction {
            "FROM" => {}
            "COPY" => {
                let (source, target) = value.split_once(' ').unwrap();
                spec.files.push((folder.join(source), target.to_owned()));
            }
            "ENV" => {
                let (name, value) = value.split_once('=').unwrap();
                spec.variables.insert(name.to_owned(), value.trim_matches('"').to_owned());
            }
            "ENTRYPOINT" => spec.command = serde_json::from_str(value).unwrap(),
            _ => panic!("{line}"),
        }
    }
    spec
}

/// What a pod of the page says of its containers, for their images.
fn pod(name: &str, images: &BTreeMap<&str, Spec>) -> Vec<Spec> {
    let text = block("yaml", name);
    let mut section = "";
    let mut variable = "";
    let mut specs: Vec<Spec> = Vec::new();
    for line in text.lines() {
        let field = line.trim_start();
        let depth = line.len() - field.len();
        let is_of_containers = section.to_lowercase().ends_with("containers:");
        match (depth, field) {
            (2, _) => section = field,
            (4, _) if is_of_containers && field.starts_with("- name: ") => {
                let name = field["- name: ".len()..].to_owned();
                specs.push(Spec { name, user: USER, ..Spec::default() });
            }
            _ => {}
        }
        let Some(spec) = specs.last_mut().filter(|_| is_of_containers) else { continue };
        let value = |name: &str| field.strip_prefix(name).map(str::trim);
        if let Some(image) = value("image: registry.example/") {
            let image = &images[image];
            spec.files.clone_from(&image.files);
            spec.command.clone_from(&image.command);
        } else if let Some(command) = value("command:") {
            spec.command = serde_json::from_str(command).unwrap();
        } else if field == "readOnlyRootFilesystem: true" {
            spec.is_read_only = true;
        } else if let Some(mount) = value("- { name:") {
            let (name, rest) = mount.split_once(", mountPath: ").unwrap();
            let path = rest.split([',', ' ']).next().unwrap();
            spec.mounts.push((name.to_owned(), path.to_owned()));
        } else if let (8, Some(name)) = (depth, value("- name:")) {
            variable = name;
        } else if let Some(value) = value("value:") {
            // Kubernetes puts in the variables before it.
            let value = value.replace("$(POD_NAME)", "service");
            spec.variables.insert(variable.to_owned(), value);
        }
    }
    specs
}

/// The service's jar, `app.jar`.
fn jar(folder: &Folder) -> PathBuf {
    let classes = fixture::compile_text("Service", SERVICE);
    let jar = folder.join("app.jar");
    let mut command = Command::new(jdk::compiler().home.join("bin/jar"));
    command.args(["--create", "--main-class", "Service", "--file"]).arg(&jar).arg("-C");
    assert!(command.arg(classes).arg("Service.class").status().unwrap().success());
    jar
}

/// A container with the service, and a volume at `/tmp`.
fn service(folder: &Folder) -> Spec {
    Spec {
        name: "app".to_owned(),
        user: USER,
        files: vec![(jar(folder), "/app/app.jar".to_owned())],
        is_read_only: true,
        mounts: vec![("tmp".to_owned(), "/tmp".to_owned())],
        command: ["java", "-jar", "/app/app.jar"].map(str::to_owned).to_vec(),
        ..Spec::default()
    }
}

fn assert_success(output: &Output) {
    assert!(output.status.success(), "{}{}", stdout(output), stderr(output));
}

/// Fails unless the file has samples of the service.
#[track_caller]
fn assert_profile(folder: &Folder, file: &Path) {
    let report = folder.run(&["report", file.to_str().unwrap()]);
    assert_success(&report);
    assert!(stdout(&report).contains("Service.work"), "{}", stdout(&report));
}

/// The container's `/tmp` after an attach: the agent and its socket, and no file of the recording.
fn assert_nothing_is_left(machine: &Machine<'_>, volume: &str) {
    let own = machine.volume(volume).join(format!("perk-{USER}"));
    let names = fs::read_dir(own).unwrap().map(|it| it.unwrap().file_name());
    let others = names.filter(|name| {
        let name = name.to_string_lossy();
        !name.ends_with(".sock") && !name.starts_with(env!("CARGO_PKG_VERSION"))
    });
    assert_eq!(others.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn the_file_is_copied_into_a_container() {
    if !can_run() {
        return;
    }
    jdk::each(|jdk| {
        let folder = Folder::new();
        let mut machine = Machine::new(&folder, jdk);
        machine.start(&service(&folder), None).wait_for_output("ready");
        for name in ["copy.sh", "docker.sh", "stream.sh"] {
            let output = machine.run(&script(name));
            assert_success(&output);
            assert!(stderr(&output).contains("/app/app.jar (pid 1)\n"), "{}", stderr(&output));
            assert_profile(&folder, &folder.join("service.hprof"));
            fs::remove_file(folder.join("service.hprof")).unwrap();
        }
        assert_nothing_is_left(&machine, "tmp");
        // The JVM is seen from here as well, with the version of the JDK in its own root.
        let pid = machine.container("app").pid.to_string();
        let list = stdout(&folder.run(&["ps"]));
        let line = list.lines().find(|line| line.split_whitespace().next() == Some(&pid)).unwrap();
        let version = format!("{}.", jdk.version);
        assert!(line.split_whitespace().nth(2).unwrap().starts_with(&version), "{line}");
    });
}

#[test]
fn a_distroless_container_is_attached_to_from_a_debug_container() {
    if !can_run() {
        return;
    }
    jdk::each(|jdk| {
        let folder = Folder::new();
        let mut machine = Machine::new(&folder, jdk);
        let spec = Spec { is_distroless: true, ..service(&folder) };
        machine.start(&spec, None).wait_for_output("ready");
        assert!(!machine.run("kubectl exec \"$POD\" -- true").status.success());
        assert_success(&machine.run(&script("debug.sh")));
        assert_profile(&folder, &folder.join("service.hprof"));
        assert_nothing_is_left(&machine, "tmp");
    });
}

#[test]
fn a_sidecar_attaches_to_the_service_of_its_pod() {
    if !can_run() {
        return;
    }
    jdk::each(|jdk| {
        let folder = Folder::new();
        let mut machine = Machine::new(&folder, jdk);
        let images = [("service", service(&folder)), ("perk", image(&folder, "The image perk"))];
        // The first process of a pod that shares its processes.
        let command = ["sleep", "3600"].map(str::to_owned).to_vec();
        let pause = Spec { name: "pause".to_owned(), command, ..Spec::default() };
        machine.start(&pause, None);
        let specs = pod("A service with a sidecar", &BTreeMap::from(images));
        let names: Vec<_> = specs.iter().map(|spec| spec.name.as_str()).collect();
        assert_eq!(names, ["app", "perk"]);
        assert!(specs.iter().all(|spec| spec.is_read_only && spec.mounts.len() == 1));
        for spec in &specs {
            machine.start(spec, Some("pause"));
        }
        machine.container("app").wait_for_output("ready");
        let output = machine.run(&script("sidecar.sh"));
        assert_success(&output);
        let (list, table) = (stdout(&output), stderr(&output));
        assert!(list.contains("  yes  ") && table.contains("/app/app.jar (pid "), "{list}{table}");
        assert_profile(&folder, &folder.join("service.hprof"));
        assert_nothing_is_left(&machine, "app-tmp");
    });
}

#[test]
fn the_agent_in_an_image_writes_its_file_when_the_container_is_stopped() {
    if !can_run() {
        return;
    }
    jdk::each(|jdk| {
        let folder = Folder::new();
        let mut machine = Machine::new(&folder, jdk);
        jar(&folder);
        assert_success(&machine.run(&block("sh", "library.sh")));
        let mut spec = image(&folder, "The service with the agent");
        spec.name = "app".to_owned();
        spec.user = USER;
        spec.mounts = vec![("profiles".to_owned(), "/profiles".to_owned())];
        spec.command.push("child".to_owned());
        let app = machine.start(&spec, None);
        app.wait_for_output("has worked");
        let status = app.stop();
        assert_eq!(status.code(), Some(143), "{}", app.output());
        let output = app.output();
        assert!(output.contains("child ended with 0") && output.contains("bye"), "{output}");
        // One file of the service, and one of its child.
        let profiles = machine.volume("profiles");
        let mut names: Vec<_> =
            fs::read_dir(&profiles).unwrap().flatten().map(|it| it.file_name()).collect();
        names.sort();
        assert_eq!((names.len(), names[0].to_str()), (2, Some("1.hprof")), "{names:?}");
        assert_profile(&folder, &profiles.join("1.hprof"));
    });
}

#[test]
fn the_agent_of_a_pod_keeps_the_files_of_containers_that_are_started_again() {
    if !can_run() {
        return;
    }
    jdk::on(17, |jdk| {
        let folder = Folder::new();
        let mut machine = Machine::new(&folder, jdk);
        let images = [("service", service(&folder)), ("perk", image(&folder, "The image perk"))];
        let specs = pod("A service with the agent", &BTreeMap::from(images));
        let [agent, app] = &specs[..] else { panic!("{specs:?}") };
        assert!(machine.start(agent, None).wait().success());
        for round in 0..2 {
            let app = Spec { name: format!("app-{round}"), ..app.clone() };
            let app = machine.start(&app, None);
            app.wait_for_output("has worked");
            assert_eq!(app.stop().code(), Some(143), "{}", app.output());
        }
        let profiles = machine.volume("profiles");
        for name in ["service-1.hprof", "service-1.hprof.1"] {
            assert_profile(&folder, &profiles.join(name));
        }
    });
}

/// Runs perk on this machine as root with these capabilities, or as a user.
fn limited(folder: &Folder, limits: &[&str], arguments: &[&str]) -> Output {
    let perk = perk_for_all(folder);
    let mut command = Command::new("setpriv");
    command.args(limits).arg(perk).args(arguments).current_dir(folder.path());
    command.env_remove("JAVA_TOOL_OPTIONS").env_remove("XDG_RUNTIME_DIR").output().unwrap()
}

#[test]
fn rights_that_are_missing_are_named() {
    if !can_run() {
        return;
    }
    jdk::on(17, |jdk| {
        let folder = Folder::new();
        let mut machine = Machine::new(&folder, jdk);
        machine.start(&service(&folder), None).wait_for_output("ready");
        let pid = machine.container("app").pid.to_string();
        // Other users write there, too.
        let out = machine.volume("out").join("a.txt");
        let out = out.to_str().unwrap();
        let attach = ["attach", pid.as_str(), "--duration", "200ms", "-o", out];
        let bounds = |capabilities: &str| format!("--bounding-set={capabilities}");
        let other_group = ["--reuid=1000", "--regid=2000", "--clear-groups"];
        let words = ["its user 1000, its group 1000", "CAP_SYS_PTRACE"];
        assert_refused(&limited(&folder, &other_group, &attach), &words);
        let list = limited(&folder, &other_group, &["ps"]);
        assert!(stderr(&list).contains("with their user and group"), "{}", stderr(&list));
        for (capabilities, words) in [
            (DEFAULT_CAPABILITIES, &words[..]),
            ("-all,+sys_ptrace", &["CAP_SETUID and CAP_SETGID"]),
        ] {
            let limits = [&bounds(capabilities), "--inh-caps=-all"];
            assert_refused(&limited(&folder, &limits, &attach), words);
        }
        // More is not needed: neither to send the JVM a signal, nor to look into a private folder.
        let enough = [&bounds("-all,+sys_ptrace,+setuid,+setgid"), "--inh-caps=-all"];
        assert_success(&limited(&folder, &enough, &attach));
        assert_success(&limited(&folder, &enough, &["status", &pid]));
        assert!(Path::new(out).exists());
    });
}
