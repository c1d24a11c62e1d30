package perk.jmh;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/**
 * Reports to JMH what perk measures, per operation of the benchmark: {@code perk.samples},
 * {@code perk.calls} and {@code perk.alloc}, each if the agent in the forked JVM measures it.
 *
 * <p>The agent must write HPROF's text without leaving rows out: its options need {@code cutoff=0}, and
 * the default {@code format=a}. Work of JMH itself counts as well, unless {@code include} leaves it out.
 */
public final class PerkProfiler implements InternalProfiler {
    /** The sections of the text, with the column that has the number of a row. */
    private static final String SAMPLES = "CPU SAMPLES";
    private static final String CALLS = "CPU TIME (ms)";
    private static final String SITES = "SITES";
    private static final int COUNT_COLUMN = 3;
    private static final int ALLOCATED_COLUMN = 5;

    /** The places in the file of the dump that precedes the iteration. */
    private long dumpBegin;
    private long dumpEnd;

    @Override
    public String getDescription() {
        return "samples, calls and allocated bytes per operation, by perk";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        // What other code did so far ends in a dump of its own. It is read later, as reading allocates.
        ask("reset");
        dumpBegin = dumpEnd;
        dumpEnd = new File((String) ask("dump")).length();
    }

    @Override
    public Collection<? extends Result> afterIteration(
            BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
        String before;
        String text;
        try (RandomAccessFile file = new RandomAccessFile((String) ask("dump"), "r")) {
            before = read(file, dumpBegin, dumpEnd);
            text = read(file, dumpEnd, file.length());
            dumpEnd = file.length();
        } catch (IOException e) {
            throw new IllegalStateException("perk's file cannot be read", e);
        }
        double operations = result.getMetadata().getAllOps();
        List<ScalarResult> results = new ArrayList<>();
        add(results, "perk.samples", sum(text, SAMPLES, COUNT_COLUMN), operations, "samples/op");
        add(results, "perk.calls", sum(text, CALLS, COUNT_COLUMN), operations, "calls/op");
        // The other sections begin again with each dump.
        long allocated = sum(text, SITES, ALLOCATED_COLUMN);
        if (allocated >= 0) {
            allocated -= Math.max(0, sum(before, SITES, ALLOCATED_COLUMN));
        }
        add(results, "perk.alloc", allocated, operations, "B/op");
        if (results.isEmpty()) {
            throw new IllegalStateException(
                    "perk has written neither samples nor calls nor sites; its options are "
                            + status().get("options"));
        }
        return results;
    }

    private static void add(List<ScalarResult> to, String label, long sum, double operations, String unit) {
        if (sum >= 0) {
            double value = operations > 0 ? sum / operations : Double.NaN;
            to.add(new ScalarResult(label, value, unit, AggregationPolicy.AVG));
        }
    }

    /** Returns the sum of a column of a section; -1 if the text has no such section. */
    static long sum(String text, String section, int column) {
        long sum = -1;
        for (String line : text.split("\n")) {
            if (line.startsWith(section + " BEGIN")) {
                sum = 0;
            } else if (sum >= 0 && line.startsWith(section + " END")) {
                return sum;
            } else if (sum >= 0) {
                String[] cells = line.trim().split(" +");
                // The lines of the heading have no rank.
                boolean isRow = cells.length > column && Character.isDigit(cells[0].charAt(0));
                sum += isRow ? Long.parseLong(cells[column]) : 0;
            }
        }
        return sum;
    }

    private static String read(RandomAccessFile file, long begin, long end) throws IOException {
        byte[] bytes = new byte[Math.toIntExact(end - begin)];
        file.seek(begin);
        file.readFully(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static Map<?, ?> status() {
        return (Map<?, ?>) ask("status");
    }

    /** Makes a request to the agent of this JVM. */
    private static Object ask(String request) {
        try {
            return Class.forName("perk.Profiler").getMethod(request).invoke(null);
        } catch (InvocationTargetException e) {
            throw new IllegalStateException("perk: " + e.getCause().getMessage(), e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(
                    "there is no perk in the forked JVM: add -jvmArgsAppend -agentpath:libperk.so=...", e);
        }
    }
}
