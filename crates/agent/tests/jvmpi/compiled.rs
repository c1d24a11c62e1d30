//! COMPILED_METHOD_LOAD and COMPILED_METHOD_UNLOAD.

use perk_testkit::{fixture, jdk};

use crate::support::{library, profiled};

const PROGRAM: &str = "public class Hot {
    static native void enable();
    static int hot(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum += i * 31;
            sum ^= sum >>> 3;
        }
        return sum;
    }
    public static void main(String[] arguments) throws Exception {
        int sum = 0;
        for (int i = 0; i < 30000; i++) sum += hot(100);
        Thread.sleep(300);
        if (arguments.length > 0) {
            System.load(arguments[0]);
            enable();
        }
        Thread.sleep(300);
        System.out.println(\"sum=\" + sum);
    }
}";

/// Lets classes go whose methods are compiled, until the JVM has dropped the code of each.
const UNLOADS: &str = "public class Unloads {
    static native int unloaded();
    public static class Hot {
        public static int hot(int n) {
            int sum = 0;
            for (int i = 0; i < n; i++) sum += i * 31;
            return sum;
        }
    }
    static class Loader extends ClassLoader {
        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals(\"Unloads$Hot\")) return super.loadClass(name, resolve);
            try (var in = Unloads.class.getResourceAsStream(\"Unloads$Hot.class\")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (java.io.IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }
    static void use() throws Exception {
        var hot = new Loader().loadClass(\"Unloads$Hot\").getMethod(\"hot\", int.class);
        for (int i = 0; i < 2000; i++) hot.invoke(null, 100);
    }
    public static void main(String[] arguments) throws Exception {
        System.load(arguments[0]);
        for (int i = 0; i < 5; i++) use();
        while (unloaded() < 5) {
            System.gc();
            Thread.sleep(5);
        }
    }
}";

#[test]
fn each_code_that_is_dropped_was_reported_before() {
    let classes = fixture::compile_text("Unloads", UNLOADS);
    jdk::each(|jdk| {
        // Each method is compiled before the program continues.
        let run = profiled(jdk, "", "compiled", "").jvm_arg("-Xbatch");
        let run = run.classes(&classes).main("Unloads");
        let outcome = run.args([library("compiled").display().to_string()]).run();
        outcome.assert_success();
        assert_eq!(outcome.number("without.load"), 0, "{}", outcome.report());
        assert_eq!(outcome.number("wrong.addresses"), 0, "{}", outcome.report());
        assert!(outcome.number("unloads") >= 5, "{}", outcome.report());
    });
}

#[test]
fn the_code_of_a_hot_method_has_its_lines() {
    jdk::each(|jdk| {
        for is_late in [false, true] {
            let options = if is_late { "late" } else { "" };
            let run = profiled(jdk, "", "compiled", options);
            let mut run = run.classes(fixture::compile_text("Hot", PROGRAM)).main("Hot");
            if is_late {
                run = run.args([library("compiled").display().to_string()]);
            }
            let outcome = run.run();
            outcome.assert_success();
            let report = outcome.report();
            for name in ["empty", "unannounced", "bad.lines"] {
                assert_eq!(outcome.number(name), 0, "{name}: {report}");
            }
            assert!(outcome.number("hot") >= 1, "{report}");
            assert!(outcome.number("lines") >= 2, "{report}");
            // The JVM gives the places where it can stop.
            assert!(outcome.number("least") <= outcome.number("most"), "{report}");
            assert!((1..=5).contains(&outcome.number("most")), "{report}");
            assert_eq!(outcome.number("threads"), 1, "{report}");
            assert!(outcome.number("loads") > 20, "{report}");
        }
    });
}
