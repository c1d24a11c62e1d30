import java.nio.file.Path;
import java.util.TreeMap;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/** Prints the number of events of each type, the sums of their numbers, and the named things. */
public class ReadRecording {
    public static void main(String[] args) throws Exception {
        TreeMap<String, long[]> sums = new TreeMap<>();
        long last = Long.MIN_VALUE;
        try (RecordingFile file = new RecordingFile(Path.of(args[0]))) {
            while (file.hasMoreEvents()) {
                RecordedEvent event = file.readEvent();
                long[] sum = sums.computeIfAbsent(event.getEventType().getName(), name -> new long[7]);
                sum[0]++;
                sum[1] += event.hasField("weight") ? event.getLong("weight") : 0;
                sum[2] += event.getDuration().toNanos();
                RecordedThread thread =
                        event.hasField("sampledThread") ? event.getThread("sampledThread") : event.getThread();
                sum[3] += thread != null && thread.getJavaName() != null ? 1 : 0;
                RecordedStackTrace stack = event.getStackTrace();
                for (RecordedFrame frame : stack == null ? new java.util.ArrayList<RecordedFrame>() : stack.getFrames()) {
                    sum[4]++;
                    sum[5] += Math.max(0, frame.getLineNumber());
                    String method = frame.getMethod().getType().getName() + "." + frame.getMethod().getName();
                    sum[6] += method.equals("Recorded.compute") ? 1 : 0;
                }
                long end = event.getEndTime().getEpochSecond() * 1_000_000_000L + event.getEndTime().getNano();
                if (end < last) {
                    throw new IllegalStateException("not in order of time: " + event);
                }
                last = end;
            }
        }
        sums.forEach((name, sum) -> {
            StringBuilder line = new StringBuilder(name);
            for (long number : sum) {
                line.append(' ').append(number);
            }
            System.out.println(line);
        });
    }
}
