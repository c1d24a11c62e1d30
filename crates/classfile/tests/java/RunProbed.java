import java.lang.reflect.Method;

/** Runs the main method of a class, or its method run(int), and prints the counts on stderr. */
public class RunProbed {
    public static void main(String[] args) throws Exception {
        Class<?> type = Class.forName(args[0]);
        if (args.length == 1) {
            type.getMethod("main", String[].class).invoke(null, (Object) new String[0]);
        } else {
            Method run = type.getMethod("run", int.class);
            for (int i = 1; i < args.length; i++) {
                System.out.println(run.invoke(null, Integer.parseInt(args[i])));
            }
        }
        System.err.println("entered=" + Probe.entered);
        System.err.println("returned=" + Probe.returned);
        System.err.println("unwound=" + Probe.unwound);
        System.err.println("called=" + Probe.called);
        System.err.println("calledBack=" + Probe.calledBack);
        System.err.println("allocated=" + Probe.allocated);
        System.err.println("caught=" + Probe.caught);
        System.err.println("blocks=" + Probe.blocks);
        System.err.println("wrong=" + Probe.wrong);
    }
}
