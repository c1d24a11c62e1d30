import java.io.File;
import java.util.List;
import org.graalvm.visualvm.lib.jfluid.heap.FieldValue;
import org.graalvm.visualvm.lib.jfluid.heap.GCRoot;
import org.graalvm.visualvm.lib.jfluid.heap.Heap;
import org.graalvm.visualvm.lib.jfluid.heap.HeapFactory;
import org.graalvm.visualvm.lib.jfluid.heap.Instance;
import org.graalvm.visualvm.lib.jfluid.heap.JavaClass;
import org.graalvm.visualvm.lib.jfluid.heap.ObjectFieldValue;
import org.graalvm.visualvm.lib.jfluid.heap.ThreadObjectGCRoot;

/**
 * Reads a heap dump by VisualVM's library. Prints the number of instances and the name of each class
 * that has any, with a tab between; and fails where a field leads to no object.
 */
public class VisualVmCounts {
    public static void main(String[] args) throws Exception {
        Heap heap = HeapFactory.createHeap(new File(args[0]));
        for (JavaClass type : heap.getAllClasses()) {
            if (type.getInstancesCount() > 0) {
                System.out.println(type.getInstancesCount() + "\t" + type.getName());
            }
            for (Instance instance : (List<Instance>) type.getInstances()) {
                check(instance);
            }
        }
        int stacks = 0;
        for (GCRoot root : heap.getGCRoots()) {
            if (root instanceof ThreadObjectGCRoot thread && thread.getStackTrace() != null) {
                stacks += thread.getStackTrace().length > 0 ? 1 : 0;
            }
        }
        if (stacks == 0) {
            throw new IllegalStateException("no thread has a stack");
        }
    }

    private static void check(Instance instance) {
        for (FieldValue value : (List<FieldValue>) instance.getFieldValues()) {
            if (value instanceof ObjectFieldValue reference && !value.getValue().equals("0")) {
                if (reference.getInstance() == null) {
                    throw new IllegalStateException(
                            instance.getJavaClass().getName() + "." + value.getField().getName()
                            + " leads to no object: " + value.getValue());
                }
            }
        }
    }
}
