package java.lang;

/** A class that is broken before it is linked, to see that a broken class is found. */
public final class PerkBroken {
    public static int answer() {
        return 42;
    }
}
