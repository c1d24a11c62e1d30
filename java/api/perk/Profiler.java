package perk;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Begins, ends and writes recordings of perk in the program that calls it. Each method makes the request
 * of the same name of {@code perk start}, {@code perk stop} and so on, with the same effect.
 *
 * <p>The agent defines this class in the boot loader, so that every class loader finds it. A program
 * that also runs without perk calls it by reflection, as {@code Class.forName("perk.Profiler")} throws
 * {@link ClassNotFoundException} without an agent.
 *
 * <p>A request that fails throws {@link IllegalStateException}, whose message is that of the
 * command line. All methods may be called on any thread, also on several at once: the requests are
 * obeyed one after the other.
 */
public final class Profiler {
    /** The number of calls of {@link #profile(Runnable)} that are under way. */
    private static int profiledCount;

    /** Whether the last of these calls pauses the recording. */
    private static boolean pausesAtEnd;

    private Profiler() {}

    /**
     * Begins a recording.
     *
     * @param options the options of the agent, such as
     *     {@code "cpu=samples,interval=1,format=x,file=/tmp/a.perk"}
     * @return the absolute path of the file
     */
    public static String start(String options) {
        return ask("start ".concat(options)).get("file");
    }

    /**
     * Resumes the recording that is paused.
     *
     * @return the absolute path of the file
     */
    public static String start() {
        return ask("start").get("file");
    }

    /**
     * Ends the recording and finishes its file. A recording of the JVM's command line is paused instead:
     * it ends with the JVM.
     *
     * @return the absolute path of the file
     */
    public static String stop() {
        return ask("stop").get("file");
    }

    /**
     * Writes what was measured since the last dump.
     *
     * @return the absolute path of the file
     */
    public static String dump() {
        return ask("dump").get("file");
    }

    /** Drops the measurements so far. */
    public static void reset() {
        ask("reset");
    }

    /**
     * Describes the agent and its recording.
     *
     * @return the fields of {@code perk status} by name, among them {@code state}, which is {@code idle},
     *     {@code recording} or {@code paused}
     */
    public static Map<String, String> status() {
        return ask("status");
    }

    /**
     * Resumes the recording that is paused, runs {@code work} on this thread, and pauses the recording
     * again, also if {@code work} throws. Of calls on several threads, the first resumes and the last
     * pauses. If the recording is not paused, {@code work} runs and nothing else happens.
     */
    public static void profile(Runnable work) {
        enter();
        try {
            work.run();
        } finally {
            leave();
        }
    }

    /**
     * Begins a recording, runs {@code work} on this thread, and ends the recording, also if {@code work}
     * throws.
     *
     * @param options the options of the agent
     * @return the absolute path of the file
     */
    public static String profile(String options, Runnable work) {
        start(options);
        try {
            work.run();
        } catch (Throwable failure) {
            try {
                stop();
            } catch (IllegalStateException another) {
                failure.addSuppressed(another);
            }
            throw failure;
        }
        return stop();
    }

    private static synchronized void enter() {
        if (profiledCount == 0) {
            pausesAtEnd = !"recording".equals(status().get("state"));
            if (pausesAtEnd) {
                start();
            }
        }
        profiledCount++;
    }

    private static synchronized void leave() {
        profiledCount--;
        if (profiledCount == 0 && pausesAtEnd) {
            pause();
        }
    }

    /** Makes a request. Returns the fields of the answer. */
    private static Map<String, String> ask(String request) {
        byte[] answer = obey(request.getBytes(StandardCharsets.UTF_8));
        if (answer == null) {
            throw new IllegalStateException("perk has no memory for an answer");
        }
        Map<String, String> fields = new LinkedHashMap<>();
        for (String line : new String(answer, StandardCharsets.UTF_8).split("\n")) {
            if (line.startsWith("error ")) {
                throw new IllegalStateException(line.substring("error ".length()));
            }
            int end = line.indexOf('=');
            if (end >= 0) {
                fields.put(line.substring(0, end), line.substring(end + 1));
            }
        }
        return fields;
    }

    /** Obeys a request of the control socket. Returns the answer as the socket has it. */
    private static native byte[] obey(byte[] request);

    /** Pauses the recording, whose file stays open. Nothing happens if there is none, or it is paused. */
    private static native void pause();

    /**
     * Has perk bind the native methods of its classes in java.base: the JVM prints a warning unless a method
     * of a class of the boot loader does.
     */
    private static void bind() {
        bindAll();
    }

    private static native void bindAll();
}
