package java.lang;

/** A class that xtask breaks, to see that a broken class is found. */
public final class PerkBroken {
    public static int answer() {
        return 42;
    }
}
