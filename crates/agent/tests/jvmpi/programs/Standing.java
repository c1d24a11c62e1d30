/** A system class loader that looks classes up under a lock, with which main waits. */
public class Standing extends ClassLoader {
    private static final Object LOCK = new Object();

    public Standing(ClassLoader parent) {
        super(parent);
    }

    @Override
    public Class<?> loadClass(String name) throws ClassNotFoundException {
        synchronized (LOCK) {
            return super.loadClass(name);
        }
    }

    public static void main(String[] args) throws Exception {
        Object other = new Object();
        synchronized (LOCK) {
            synchronized (other) {
                other.wait(1);
            }
        }
        System.out.println("done=1");
    }
}
