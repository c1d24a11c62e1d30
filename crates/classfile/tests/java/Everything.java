import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;
import java.util.function.Supplier;

/** Some of each construct that javac compiles, in one class where that can be; prints results. */
public class Everything {
    @Target({ElementType.TYPE_USE, ElementType.TYPE_PARAMETER})
    @Retention(RetentionPolicy.RUNTIME)
    @interface Mark {
        int value() default 1;

        String[] names() default {};

        Class<?> type() default Object.class;
    }

    record Point(int x, int y) {
        Point {
            if (x < 0) {
                throw new IllegalArgumentException("x " + x);
            }
        }
    }

    static class Base {
        final String text;

        Base(String text) {
            this.text = text;
        }

        Base(Base other, Object... more) {
            this(other == null ? new String("none") : other.text + more.length);
        }
    }

    static class Derived extends Base {
        private final IntSupplier supplier;
        private int count = 3;

        Derived(int n) {
            super(new Base(n > 2 ? new Base("a" + n) : null, new int[n], new String("x")),
                n % 2 == 0 ? new Object() : new StringBuilder().append(n), (Supplier<String>) () -> "s");
            supplier = () -> count + n;
            if (n == 5) {
                throw new IllegalStateException("five");
            }
        }

        int get() {
            return supplier.getAsInt();
        }
    }

    class Inner {
        final int seen;

        Inner() {
            seen = field;
        }
    }

    enum Colour { RED, GREEN, BLUE }

    private int field = 7;

    public static void main(String[] args) {
        System.out.println(switches());
        System.out.println(exceptions());
        System.out.println(loops());
        System.out.println(objects());
        System.out.println(wide());
        System.out.println(annotated(List.of("a", "bb")));
        System.out.println(locks(new Object()));
        System.out.println(recursion(20));
        System.out.println(deep(0));
        System.out.println(traces());
    }

    static String switches() {
        StringBuilder out = new StringBuilder();
        for (int i = -2; i < 8; i++) {
            switch (i) {
                case 0: out.append("zero "); break;
                case 1: out.append("one ");
                case 2: out.append("two "); break;
                case 5: out.append("five "); continue;
                default: out.append(". ");
            }
            switch (i * 1000) {
                case -2000 -> out.append("A");
                case 3000 -> out.append("B");
                case 7000 -> out.append("C");
                default -> out.append("-");
            }
        }
        for (String s : new String[] {"one", "two", "Aa", "BB", "none"}) {
            out.append(switch (s) {
                case "one" -> 1;
                case "Aa" -> 2;
                case "BB" -> 3;
                default -> {
                    int n = s.length();
                    yield n * 10;
                }
            });
        }
        for (Colour colour : Colour.values()) {
            out.append(switch (colour) {
                case RED -> 'r';
                case GREEN -> 'g';
                case BLUE -> 'b';
            });
        }
        return out.toString();
    }

    static String exceptions() {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < 6; i++) {
            try {
                try {
                    out.append(nested(i, out));
                } finally {
                    out.append("f").append(i);
                    if (i == 4) {
                        continue;
                    }
                }
            } catch (IllegalStateException | ArithmeticException e) {
                out.append(e.getMessage());
            } catch (RuntimeException e) {
                out.append("R");
            }
        }
        try (AutoCloseable a = () -> out.append("close"); AutoCloseable b = () -> {
            throw new Exception("on close");
        }) {
            out.append("body");
            throw new Exception("in body");
        } catch (Exception e) {
            out.append(e.getMessage()).append(e.getSuppressed().length);
        }
        return out.toString();
    }

    private static int nested(int i, StringBuilder out) {
        try {
            switch (i) {
                case 0: return 10 / i;
                case 1: throw new IllegalStateException("state");
                case 2: return ((Object[]) new Integer[1]).length;
                case 3: ((Object[]) new Integer[1])[0] = "x";
                case 4: throw new Error("lost");
                default: return i;
            }
        } catch (ArithmeticException e) {
            try {
                throw new IllegalStateException("again", e);
            } finally {
                out.append("!");
            }
        } finally {
            out.append(".");
        }
    }

    static long loops() {
        long sum = 0;
        outer:
        for (int i = 0; i < 50; i++) {
            for (int j = 0;; j++) {
                if (j > i) {
                    continue outer;
                }
                if (i * j > 600) {
                    break outer;
                }
                sum += i ^ j;
            }
        }
        int k = 0;
        do {
            sum += k++ % 3 == 0 ? k : -k;
        } while (k < 30);
        while (sum > 100) {
            sum -= sum > 1000 && sum % 2 == 0 || sum < 200 ? 77 : 13;
        }
        return sum;
    }

    static String objects() {
        StringBuilder out = new StringBuilder();
        for (int n = 0; n < 7; n++) {
            try {
                Derived derived = new Derived(n);
                out.append(derived.text).append(derived.get()).append(' ');
            } catch (IllegalStateException e) {
                out.append(e.getMessage());
            }
        }
        Everything everything = new Everything();
        Inner inner = everything.new Inner();
        Object local = new Object() {
            private final int captured = inner.seen;

            @Override
            public String toString() {
                return "local" + captured + everything.field;
            }
        };
        out.append(local).append(new Point(1, 2)).append(new Point(1, 2).equals(new Point(1, 2)));
        try {
            out.append(new Point(-1, 0));
        } catch (IllegalArgumentException e) {
            out.append(e.getMessage());
        }
        int[][][] cube = new int[2][3][];
        long[] longs = {1L, Long.MAX_VALUE, cube.length};
        Supplier<List<String>> list = ArrayList::new;
        Object object = longs;
        if (object instanceof long[] same && same.length == 3) {
            out.append(same[1]);
        }
        return out.append(list.get()).append(cube[1].length).toString();
    }

    static double wide() {
        int v0 = 0, v1 = 1, v2 = 2, v3 = 3, v4 = 4, v5 = 5, v6 = 6, v7 = 7, v8 = 8, v9 = 9;
        int v10 = 10, v11 = 11, v12 = 12, v13 = 13, v14 = 14, v15 = 15, v16 = 16, v17 = 17, v18 = 18, v19 = 19;
        int v20 = 20, v21 = 21, v22 = 22, v23 = 23, v24 = 24, v25 = 25, v26 = 26, v27 = 27, v28 = 28, v29 = 29;
        int v30 = 30, v31 = 31, v32 = 32, v33 = 33, v34 = 34, v35 = 35, v36 = 36, v37 = 37, v38 = 38, v39 = 39;
        int v40 = 40, v41 = 41, v42 = 42, v43 = 43, v44 = 44, v45 = 45, v46 = 46, v47 = 47, v48 = 48, v49 = 49;
        int v50 = 50, v51 = 51, v52 = 52, v53 = 53, v54 = 54, v55 = 55, v56 = 56, v57 = 57, v58 = 58, v59 = 59;
        int v60 = 60, v61 = 61, v62 = 62, v63 = 63, v64 = 64, v65 = 65, v66 = 66, v67 = 67, v68 = 68, v69 = 69;
        int v70 = 70, v71 = 71, v72 = 72, v73 = 73, v74 = 74, v75 = 75, v76 = 76, v77 = 77, v78 = 78, v79 = 79;
        int v80 = 80, v81 = 81, v82 = 82, v83 = 83, v84 = 84, v85 = 85, v86 = 86, v87 = 87, v88 = 88, v89 = 89;
        int v90 = 90, v91 = 91, v92 = 92, v93 = 93, v94 = 94, v95 = 95, v96 = 96, v97 = 97, v98 = 98, v99 = 99;
        int v100 = 100, v101 = 101, v102 = 102, v103 = 103, v104 = 104, v105 = 105, v106 = 106, v107 = 107, v108 = 108, v109 = 109;
        int v110 = 110, v111 = 111, v112 = 112, v113 = 113, v114 = 114, v115 = 115, v116 = 116, v117 = 117, v118 = 118, v119 = 119;
        int v120 = 120, v121 = 121, v122 = 122, v123 = 123, v124 = 124, v125 = 125, v126 = 126, v127 = 127, v128 = 128, v129 = 129;
        int v130 = 130, v131 = 131, v132 = 132, v133 = 133, v134 = 134, v135 = 135, v136 = 136, v137 = 137, v138 = 138, v139 = 139;
        int v140 = 140, v141 = 141, v142 = 142, v143 = 143, v144 = 144, v145 = 145, v146 = 146, v147 = 147, v148 = 148, v149 = 149;
        int v150 = 150, v151 = 151, v152 = 152, v153 = 153, v154 = 154, v155 = 155, v156 = 156, v157 = 157, v158 = 158, v159 = 159;
        int v160 = 160, v161 = 161, v162 = 162, v163 = 163, v164 = 164, v165 = 165, v166 = 166, v167 = 167, v168 = 168, v169 = 169;
        int v170 = 170, v171 = 171, v172 = 172, v173 = 173, v174 = 174, v175 = 175, v176 = 176, v177 = 177, v178 = 178, v179 = 179;
        int v180 = 180, v181 = 181, v182 = 182, v183 = 183, v184 = 184, v185 = 185, v186 = 186, v187 = 187, v188 = 188, v189 = 189;
        int v190 = 190, v191 = 191, v192 = 192, v193 = 193, v194 = 194, v195 = 195, v196 = 196, v197 = 197, v198 = 198, v199 = 199;
        int v200 = 200, v201 = 201, v202 = 202, v203 = 203, v204 = 204, v205 = 205, v206 = 206, v207 = 207, v208 = 208, v209 = 209;
        int v210 = 210, v211 = 211, v212 = 212, v213 = 213, v214 = 214, v215 = 215, v216 = 216, v217 = 217, v218 = 218, v219 = 219;
        int v220 = 220, v221 = 221, v222 = 222, v223 = 223, v224 = 224, v225 = 225, v226 = 226, v227 = 227, v228 = 228, v229 = 229;
        int v230 = 230, v231 = 231, v232 = 232, v233 = 233, v234 = 234, v235 = 235, v236 = 236, v237 = 237, v238 = 238, v239 = 239;
        int v240 = 240, v241 = 241, v242 = 242, v243 = 243, v244 = 244, v245 = 245, v246 = 246, v247 = 247, v248 = 248, v249 = 249;
        int v250 = 250, v251 = 251, v252 = 252, v253 = 253, v254 = 254, v255 = 255, v256 = 256, v257 = 257, v258 = 258, v259 = 259;
        int v260 = 260, v261 = 261, v262 = 262, v263 = 263, v264 = 264, v265 = 265, v266 = 266, v267 = 267, v268 = 268, v269 = 269;
        int v270 = 270, v271 = 271, v272 = 272, v273 = 273, v274 = 274, v275 = 275, v276 = 276, v277 = 277, v278 = 278, v279 = 279;
        int v280 = 280, v281 = 281, v282 = 282, v283 = 283, v284 = 284, v285 = 285, v286 = 286, v287 = 287, v288 = 288, v289 = 289;
        int v290 = 290, v291 = 291, v292 = 292, v293 = 293, v294 = 294, v295 = 295, v296 = 296, v297 = 297, v298 = 298, v299 = 299;
        int last = 40000;
        for (int i = 0; i < 3; i++) {
            last += 1000;
            v299 += last;
        }
        return v0 + v299 + last + 1e10 + 123456789L;
    }

    static int annotated(@Mark List<@Mark(2) String> list) {
        @Mark(3) Object object = new @Mark(names = {"a", "b"}) ArrayList<@Mark(4) String>(list);
        int sum = 0;
        for (@Mark(5) String s : list) {
            @Mark(type = int.class) CharSequence c = (@Mark(6) CharSequence) s;
            sum += c.length();
        }
        if (object instanceof @Mark(7) ArrayList<?>) {
            Supplier<List<String>> maker = @Mark(8) ArrayList<String>::new;
            sum += maker.get().size() + 100;
        }
        try {
            sum += Everything.<@Mark(9) String>first(list).length();
        } catch (@Mark(10) RuntimeException e) {
            sum = -1;
        }
        return sum;
    }

    static <@Mark(11) T> T first(List<T> list) {
        return list.get(0);
    }

    static synchronized int locks(Object lock) {
        int n = 0;
        for (int i = 0; i < 4; i++) {
            try {
                synchronized (lock) {
                    synchronized (Everything.class) {
                        n += i;
                        if (i == 2) {
                            throw new IllegalStateException();
                        }
                    }
                }
            } catch (IllegalStateException e) {
                n += 100;
            }
            if (Thread.holdsLock(lock)) {
                n = -1;
            }
        }
        return n;
    }

    static int recursion(int n) {
        return n < 2 ? n : recursion(n - 1) + recursion(n - 2);
    }

    static int deep(int n) {
        if (n > 200) {
            try {
                throw new IllegalStateException();
            } catch (IllegalStateException e) {
                return e.getStackTrace().length > 200 ? 1 : 0;
            }
        }
        return deep(n + 1);
    }

    /** Methods and lines of an exception's own frames. */
    static String traces() {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < 3; i++) {
            int n = i;
            try {
                Supplier<Integer> supplier = () -> n == 1
                    ? first(List.of(
                        10 / (n - 1)))
                    : new Derived(
                        n + 5 - n).get();
                out.append(
                    n == 2 ? nested(
                        3, out) : supplier.get());
            } catch (RuntimeException e) {
                for (StackTraceElement frame : e.getStackTrace()) {
                    if (!frame.getClassName().startsWith("Everything")) {
                        break;
                    }
                    out.append(frame.getMethodName()).append(frame.getLineNumber()).append(' ');
                }
            }
        }
        return out.toString();
    }
}
