//! A stand-in for a container runtime: containers are processes in process and mount namespaces, with roots
//! of their own made of this machine's files. `kubectl` and `docker` are a script that enters them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use perk_testkit::{Jdk, agent};
use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::util::{Folder, PERK, shell_line, wait_for};

/// The capabilities of root in a container, unless more or fewer are asked for.
pub(super) const DEFAULT_CAPABILITIES: &str = "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,\
    +setuid,+setpcap,+net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap";

/// A container to be started.
#[derive(Clone, Debug, Default)]
pub(super) struct Spec {
    pub(super) name: String,
    /// Whether the image has no programs, only the libraries of the JVM and of perk.
    pub(super) is_distroless: bool,
    /// User and group.
    pub(super) user: u32,
    /// Files of the image, each with its source.
    pub(super) files: Vec<(PathBuf, String)>,
    pub(super) is_read_only: bool,
    /// Names of volumes, and the folders that they are mounted at.
    pub(super) mounts: Vec<(String, String)>,
    pub(super) variables: BTreeMap<String, String>,
    pub(super) command: Vec<String>,
}

/// A machine with containers. They are killed when this is dropped.
pub(super) struct Machine<'a> {
    pub(super) folder: &'a Folder,
    jdk: &'a Jdk,
    containers: Vec<Container>,
}

/// A container that runs.
#[derive(Debug)]
pub(super) struct Container {
    name: String,
    /// `unshare` or `nsenter`, whose exit code is that of the container.
    runner: Child,
    /// The container's first process.
    pub(super) pid: u32,
    log: PathBuf,
}

/// Whether containers can be made here. If not, the test says so.
pub(super) fn can_run() -> bool {
    let made = Command::new("unshare").args(["-p", "-m", "-f", "true"]).output();
    let can = geteuid().is_root() && made.is_ok_and(|output| output.status.success());
    if !can {
        eprintln!("*** NOT TESTED: no namespaces can be made here ***");
    }
    can
}

impl<'a> Machine<'a> {
    pub(super) fn new(folder: &'a Folder, jdk: &'a Jdk) -> Self {
        for name in ["kubectl", "docker"] {
            folder.program(&format!("bin/{name}"), CLIENT);
        }
        symlink(PERK, folder.join("bin/perk")).unwrap();
        symlink(PERK, folder.join("perk")).unwrap();
        Self { folder, jdk, containers: Vec::new() }
    }

    /// The folder of a volume.
    pub(super) fn volume(&self, name: &str) -> PathBuf {
        let folder = self.folder.join(&format!("volumes/{name}"));
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o1777)).unwrap();
        folder
    }

    /// Starts a container, which shares the processes of the container `shared`.
    pub(super) fn start(&mut self, spec: &Spec, shared: Option<&str>) -> &mut Container {
        let log = self.folder.join(&format!("{}.log", spec.name));
        let open = || File::options().create(true).append(true).open(&log).unwrap();
        let mut runner = match shared {
            None => Command::new("unshare"),
            Some(_) => Command::new("nsenter"),
        };
        match shared {
            None => runner.args(["--pid", "--fork", "--kill-child"]),
            Some(name) => {
                let pid = self.container(name).pid.to_string();
                runner.args(["--target", &pid, "--pid", "unshare"])
            }
        };
        runner.args(["--mount", "sh", "-c", &self.script(spec)]).args(&spec.command);
        let java = self.jdk.home.join("bin");
        let path = format!("{}:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", java.display());
        // Without a locale a JVM cannot read the names of folders above it that are not ASCII.
        runner.env_clear().env("LC_ALL", "C.UTF-8").env("PATH", path).envs(&spec.variables);
        runner.stdin(Stdio::null()).stdout(open()).stderr(open());
        let mut runner = runner.spawn().unwrap();
        let children = format!("/proc/{0}/task/{0}/children", runner.id());
        let pid = wait_for("the first process", || {
            fs::read_to_string(&children).ok()?.split_whitespace().next()?.parse().ok()
        });
        wait_for("the root of the container", || {
            let root = fs::read_link(format!("/proc/{pid}/root"));
            let has_ended = runner.try_wait().unwrap().is_some();
            (has_ended || root.is_ok_and(|root| root.as_os_str() != "/")).then_some(())
        });
        let name = spec.name.clone();
        self.folder.file(&format!("pids/{name}"), format!("{pid}"));
        self.containers.push(Container { name, runner, pid, log });
        self.containers.last_mut().unwrap()
    }

    /// The script that makes the root of a container and runs its command.
    fn script(&self, spec: &Spec) -> String {
        let image = if spec.is_distroless { DISTROLESS } else { FULL };
        let quoted = |path: &Path| shell_line(&[path.to_str().unwrap().to_owned()]);
        let files = spec.files.iter().map(|(source, target)| {
            format!("mkdir -p $(dirname .{target}); cp {} .{target}\n", quoted(source))
        });
        let read_only = if spec.is_read_only { "mount -o remount,ro \"$ROOT\"\n" } else { "" };
        let mounts = spec.mounts.iter().map(|(name, at)| {
            format!("mkdir -p .{at}; mount --bind {} .{at}\n", quoted(&self.volume(name)))
        });
        format!(
            "set -e\nJDK={home}; AGENT={agent}; PERK={perk}; ROOT={root}\n\
             mkdir \"$ROOT\"; mount -t tmpfs -o mode=755 none \"$ROOT\"; cd \"$ROOT\"\n\
             mkdir -p proc dev tmp; chmod 1777 tmp\n\
             {image}{files}{mounts}\
             mkdir -p \".$JDK\"; mount --bind \"$JDK\" \".$JDK\"\n\
             mount --bind /dev dev; mount -t proc none proc\n\
             {read_only}\
             exec setpriv --bounding-set={DEFAULT_CAPABILITIES} --inh-caps=-all \
             chroot --userspec={user}:{user} --groups= \"$ROOT\" \"$0\" \"$@\"\n",
            home = quoted(&self.jdk.home),
            perk = quoted(Path::new(PERK)),
            agent = quoted(&agent::agent_so()),
            root = quoted(&self.folder.join(&format!("root-{}", spec.name))),
            files = files.collect::<String>(),
            mounts = mounts.collect::<String>(),
            user = spec.user,
        )
    }

    pub(super) fn container(&self, name: &str) -> &Container {
        self.containers.iter().find(|it| it.name == name).unwrap()
    }

    /// Runs a script of the documentation with the service in the container `app`.
    pub(super) fn run(&self, script: &str) -> Output {
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", self.folder.join("bin").display());
        let mut sh = Command::new("sh");
        sh.args(["-euc", script]).current_dir(self.folder.path()).env("PATH", path);
        sh.env("POD", "service").env("CONTAINER", "app").env_remove("JAVA_TOOL_OPTIONS");
        sh.env("PIDS", self.folder.join("pids")).env("CAPABILITIES", DEFAULT_CAPABILITIES);
        sh.output().unwrap()
    }
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        for container in &mut self.containers {
            if matches!(container.runner.try_wait(), Ok(None)) {
                container.signal(Signal::KILL);
                let _ = container.runner.kill();
                let _ = container.runner.wait();
            }
        }
    }
}

impl Container {
    /// Its output so far.
    pub(super) fn output(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    pub(super) fn wait_for_output(&self, text: &str) {
        wait_for(text, || {
            let output = self.output();
            let runs = fs::read_link(format!("/proc/{}/root", self.pid)).is_ok();
            assert!(runs || output.contains(text), "{} has ended: {output}", self.name);
            output.contains(text).then_some(())
        });
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid as i32) {
            let _ = kill_process(pid, signal);
        }
    }

    /// Asks its first process to end, as `docker stop` and Kubernetes do.
    pub(super) fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// Waits for its end.
    pub(super) fn wait(&mut self) -> ExitStatus {
        wait_for("the end of the container", || self.runner.try_wait().unwrap())
    }
}

/// The machine's programs, without `/usr/local`, and the settings of its JDKs, which Debian has in `/etc`.
const FULL: &str = "\
mkdir -p usr etc
for folder in bin lib lib64 sbin; do ln -s usr/$folder $folder; done
for folder in etc usr/bin usr/lib usr/lib64 usr/sbin; do
    mkdir -p $folder; mount --bind /$folder $folder; mount -o remount,bind,ro $folder
done
";

/// The libraries that `ldd` names, in the same folders.
const DISTROLESS: &str = r#"mkdir etc; mount --bind /etc etc; mount -o remount,bind,ro etc
locale=/usr/lib/locale/C.utf8
test ! -d $locale || { mkdir -p .$locale; cp -r $locale/. .$locale; }
ldd "$JDK"/bin/java "$JDK"/lib/*/libjvm.so "$JDK"/lib/libj*.so "$JDK"/lib/lib[nz]*.so "$AGENT" "$PERK" |
    sed -n 's,^[^/]*\(/.*\) (0x[0-9a-f]*)$,\1,p' | sort -u | while read -r file; do
    case $file in "$JDK"/*) ;; *) mkdir -p ".$(dirname "$file")"; cp -L "$file" ".$file" ;; esac
done
"#;

/// `kubectl cp|exec|debug` and `docker cp|exec`, with the arguments that the documentation has. As with
/// the real ones, `cp` needs `tar` in the container, and an ephemeral container has a root of its own.
const CLIENT: &str = r#"#!/bin/sh
set -eu
fail() { echo "client: $*" >&2; exit 1; }
# inside CONTAINER COMMAND...: as the user of the container; root has the default capabilities, and what
# the profile "general" adds.
inside() {
    pid=$(cat "$PIDS/$1"); shift
    test "$(readlink /proc/$pid/root)" != / || fail "the container does not run yet"
    uid=$(awk '$1 == "Uid:" { print $2 }' /proc/$pid/status)
    limits=
    test $uid != 0 || limits="setpriv --bounding-set=$CAPABILITIES,+sys_ptrace --inh-caps=-all"
    nsenter --target $pid --mount --pid --root --wd -S $uid -G $uid $limits "$@"
}
client=$(basename "$0"); verb=$1; shift
name=app
case $client-$verb in
*-cp)
    from=$1; to=$2; shift 2
    test $# = 0 || { test "$1" = -c; name=$2; }
    case $from in
    "$POD":*|"$CONTAINER":*)
        path=${from#*:}
        inside $name tar cf - -C "$(dirname "$path")" "$(basename "$path")" | tar xOf - > "$to" ;;
    *)
        path=${to#*:}
        tar chf - --transform "s,.*,$(basename "$path")," "$from" |
            inside $name tar xf - -C "$(dirname "$path")" ;;
    esac ;;
docker-exec) test "$1" = "$CONTAINER"; shift; inside $name "$@" ;;
kubectl-exec)
    while test "$1" != --; do
        case $1 in -c) name=$2; shift ;; -i|"$POD") ;; *) fail "$1" ;; esac
        shift
    done
    shift; inside $name "$@" ;;
kubectl-debug)
    while test "$1" != --; do
        case $1 in
        -c) name=$2; shift ;;
        --target=*) target=$(cat "$PIDS/${1#*=}") ;;
        --image=*|--profile=general|"$POD") ;;
        *) fail "$1" ;;
        esac
        shift
    done
    shift
    nsenter --target $target --pid unshare --mount sh -c '
        mount -t tmpfs none /mnt; cd /mnt; mkdir usr etc proc dev tmp
        for folder in bin lib lib64 sbin; do ln -s usr/$folder $folder; done
        for folder in usr etc dev; do mount --bind /$folder $folder; done
        mount -t proc none proc; chmod 1777 tmp
        exec chroot . "$0" "$@"' "$@" > /dev/null 2>&1 < /dev/null &
    until grep -q . /proc/$!/task/$!/children; do :; done
    tr -d ' ' < /proc/$!/task/$!/children > "$PIDS/$name" ;;
*) fail "$client $verb" ;;
esac
"#;
