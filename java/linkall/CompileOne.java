import javax.tools.ToolProvider;

/** Runs javac with the arguments, and prints what the probes have counted by then. */
public final class CompileOne {
    public static void main(String[] args) throws ReflectiveOperationException {
        int code = ToolProvider.getSystemJavaCompiler().run(null, null, null, args);
        // All are read before one is printed, for printing counts too.
        String[] names = {
            "entered", "returned", "unwound", "called", "calledBack", "allocated", "caught", "blocks"
        };
        long[] counts = {
            PerkProbe.entered, PerkProbe.returned, PerkProbe.unwound, PerkProbe.called,
            PerkProbe.calledBack, PerkProbe.allocated, PerkProbe.caught, PerkProbe.blocks
        };
        for (int i = 0; i < names.length; i++) {
            System.out.println(names[i] + "=" + counts[i]);
        }
        long fields = Thread.class.getField("perkProbe").getType() == long.class ? 1 : 0;
        System.out.println("fields=" + fields);
        System.exit(code);
    }
}
