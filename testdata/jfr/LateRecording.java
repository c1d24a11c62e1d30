import java.nio.file.Path;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.LinkedBlockingQueue;
import jdk.jfr.Configuration;
import jdk.jfr.Recording;

/**
 * Begins a recording after its threads have allocated 200 MB each. Within, two threads allocate 20 MB
 * in each of two chunks, one 20 MB before it ends, and a new one 30 MB. With a second file, both then
 * allocate 100 MB each, and a second recording follows with 20 MB of each.
 *
 * FILE SETTINGS [FILE], where the settings of the first recording are `all`, `tlab` (with events about
 * buffers) or `bare` (without the statistics of threads).
 */
public class LateRecording {
    static volatile byte[] sink;

    /** A thread that allocates as much as it is told. */
    static class Worker extends Thread {
        final LinkedBlockingQueue<Integer> orders = new LinkedBlockingQueue<>();
        final SynchronousQueue<Integer> done = new SynchronousQueue<>();

        Worker(String name) {
            super(name);
            start();
        }

        void allocate(int mb) throws InterruptedException {
            orders.put(mb);
            done.take();
        }

        void end() throws InterruptedException {
            orders.put(0);
            join();
        }

        @Override
        public void run() {
            try {
                for (int mb; (mb = orders.take()) > 0; done.put(mb)) {
                    for (int i = 0; i < mb * 100; i++) sink = new byte[9_984];
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        Worker[] workers = {new Worker("worker 0"), new Worker("worker 1"), new Worker("worker 2")};
        for (Worker worker : workers) worker.allocate(200);
        try (var recording = recording(arguments[1])) {
            for (Worker worker : workers) worker.allocate(20);
            workers[2].end();
            var young = new Worker("young");
            young.allocate(30);
            // Another recording begins a chunk.
            try (var other = recording(arguments[1])) {
                for (int i = 0; i < 2; i++) workers[i].allocate(20);
            }
            recording.stop();
            recording.dump(Path.of(arguments[0]));
            young.end();
        }
        if (arguments.length > 2) {
            for (int i = 0; i < 2; i++) workers[i].allocate(100);
            // The end of a recording and the begin of the next are known to the millisecond.
            Thread.sleep(1500);
            try (var recording = recording("all")) {
                for (int i = 0; i < 2; i++) workers[i].allocate(20);
                recording.stop();
                recording.dump(Path.of(arguments[2]));
            }
        }
        for (int i = 0; i < 2; i++) workers[i].end();
    }

    static Recording recording(String settings) throws Exception {
        var recording = new Recording(Configuration.getConfiguration("default"));
        recording.enable("jdk.ObjectAllocationSample").with("throttle", "1000/s");
        if (settings.equals("bare")) recording.disable("jdk.ThreadAllocationStatistics");
        if (settings.equals("tlab")) {
            recording.enable("jdk.ObjectAllocationInNewTLAB");
            recording.enable("jdk.ObjectAllocationOutsideTLAB");
        }
        recording.start();
        return recording;
    }
}
