// What Java programs use: the first line of stdin names the features to play, the rest is their input.

import java.io.*;
import java.lang.reflect.*;
import java.math.*;
import java.nio.*;
import java.nio.channels.*;
import java.nio.charset.*;
import java.nio.file.*;
import java.security.*;
import java.text.*;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;
import java.util.function.*;
import java.util.regex.*;
import java.util.stream.*;

public class Main {
    interface Feature { void play() throws Throwable; }
    record Point(int x, int y) {}
    sealed interface Shape permits Circle, Square {}
    record Circle(double r) implements Shape {}
    record Square(double a) implements Shape {}
    enum Colour { RED, GREEN { @Override String say() { return "verde"; } }; String say() { return "rosso"; } }

    // feature: printsByEveryWay
    static void printsByEveryWay() throws Exception {
        System.out.println("println");
        System.out.print('c');
        System.out.printf("%5.2f|%-5d|%05d|%x|%s|%,d|%e%n", 3.14159, 7, 42, 255, null, 1234567, 12345.678);
        System.out.write("write\n".getBytes());
        System.out.flush();
        PrintWriter writer = new PrintWriter(new BufferedWriter(new OutputStreamWriter(System.out)));
        writer.println("writer");
        writer.flush();
        BufferedOutputStream out = new BufferedOutputStream(new FileOutputStream(FileDescriptor.out));
        out.write("descriptor\n".getBytes());
        out.flush();
        System.out.println(String.format("%08.3f", -3.5) + 1.0f + 1e10 + 100.0 / 3 + Double.MIN_VALUE);
    }

    // feature: printsMuch
    static void printsMuch() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 50000; i++) text.append(i).append(' ').append(i * 2).append('\n');
        System.out.print(text);
        for (int i = 0; i < 2000; i++) System.out.println(i);
    }

    // feature: printsUnicode
    static void printsUnicode() {
        System.out.println("wörld 日本 😀");
        System.out.println("é".getBytes(StandardCharsets.UTF_8).length + " " + Charset.defaultCharset());
    }

    // feature: readsByScanner, alone
    static void readsByScanner() {
        Scanner in = new Scanner(System.in);
        System.out.println(in.nextInt() + in.nextInt());
        System.out.println(in.nextLine() + in.nextLine());
        while (in.hasNextInt()) System.out.println(in.nextInt());
        System.out.println(in.nextDouble());
        while (in.hasNextLine()) System.out.println("[" + in.nextLine() + "]");
        try { in.nextInt(); } catch (NoSuchElementException e) { System.out.println(e.getMessage()); }
    }

    // feature: readsByReader, alone
    static void readsByReader() throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        StringTokenizer words = new StringTokenizer(in.readLine());
        System.out.println(Integer.parseInt(words.nextToken()) * Integer.parseInt(words.nextToken()));
        System.out.println(in.lines().collect(Collectors.toList()));
        System.out.println(in.readLine());
    }

    // feature: readsByTokenizer, alone
    static void readsByTokenizer() throws IOException {
        StreamTokenizer in = new StreamTokenizer(new BufferedReader(new InputStreamReader(System.in)));
        in.nextToken();
        System.out.println(in.nval);
    }

    // feature: readsBytes, alone
    static void readsBytes() throws IOException {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        System.out.println(in.read() + " " + new String(System.in.readAllBytes()).length());
    }

    // feature: readsDevStdin, alone
    static void readsDevStdin() throws IOException { System.out.println(new FileReader("/dev/stdin").read() > 0); }

    // feature: exits, alone
    static void exits() {
        System.out.println("said");
        System.exit(7);
    }

    // feature: throwsOut, alone
    static void throwsOut() {
        System.out.println("before");
        throw new IllegalStateException("no");
    }

    // feature: hooksAtTheEnd, alone
    static void hooksAtTheEnd() {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
        new Thread(() -> { try { Thread.sleep(20); } catch (InterruptedException e) { } System.out.println("late"); }).start();
        System.out.println("main ends");
    }

    // feature: failsInAThread, alone
    static void failsInAThread() throws Exception {
        Thread one = new Thread(() -> { throw new RuntimeException("in a thread"); });
        one.setUncaughtExceptionHandler((t, e) -> System.out.println(e.getMessage()));
        one.start();
        one.join();
        ExecutorService never = Executors.newFixedThreadPool(1);
        never.submit(() -> 1);
        System.exit(0);
    }

    // feature: assertions
    static void assertions() {
        try { assert 1 > 2 : "checked"; System.out.println("not checked"); } catch (AssertionError e) { System.out.println(e); }
    }

    // feature: recursion
    static int down(int n) { return n == 0 ? 0 : 1 + down(n - 1); }
    static void recursion() throws Exception {
        System.out.println(down(5000));
        Thread deep = new Thread(null, () -> System.out.println(down(1000000)), "deep", 512 << 20);
        deep.start();
        deep.join();
    }

    // feature: catchesAnOverflow
    static int endless(int n) { return endless(n + 1) + 1; }
    static void catchesAnOverflow() { try { endless(0); } catch (StackOverflowError e) { System.out.println("overflow"); } }

    // feature: catchesMemory
    static void catchesMemory() {
        try { System.out.println(new long[Integer.MAX_VALUE - 8].length); } catch (OutOfMemoryError e) { System.out.println("memory"); }
        System.out.println(new byte[200 << 20].length);
        System.out.println(ByteBuffer.allocateDirect(50 << 20).capacity());
    }

    // feature: threads
    static int turn;
    static synchronized void adds() { turn++; }
    static void threads() throws Exception {
        Thread[] all = new Thread[8];
        AtomicLong total = new AtomicLong();
        ReentrantLock lock = new ReentrantLock();
        CyclicBarrier barrier = new CyclicBarrier(8);
        ThreadLocal<Integer> own = ThreadLocal.withInitial(() -> 1);
        for (int i = 0; i < 8; i++) (all[i] = new Thread(() -> {
            try { barrier.await(); } catch (Exception e) { return; }
            for (int k = 0; k < 1000; k++) { total.addAndGet(own.get()); adds(); }
            lock.lock();
            try { turn++; } finally { lock.unlock(); }
        })).start();
        for (Thread each : all) each.join();
        System.out.println(total + " " + (turn >= 8000));
        Object monitor = new Object();
        boolean[] ready = {false};
        new Thread(() -> { synchronized (monitor) { ready[0] = true; monitor.notifyAll(); } }).start();
        synchronized (monitor) { while (!ready[0]) monitor.wait(); }
        CountDownLatch latch = new CountDownLatch(1);
        Thread daemon = new Thread(latch::countDown);
        daemon.setDaemon(true);
        daemon.start();
        System.out.println(latch.await(10, TimeUnit.SECONDS));
    }

    // feature: executors
    static void executors() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Integer>> found = pool.invokeAll(IntStream.range(0, 10).<Callable<Integer>>mapToObj(i -> () -> i * i).toList());
        int sum = 0;
        for (Future<Integer> each : found) sum += each.get();
        pool.shutdown();
        System.out.println(sum + " " + pool.awaitTermination(10, TimeUnit.SECONDS));
        System.out.println(CompletableFuture.supplyAsync(() -> 40).thenCombine(CompletableFuture.supplyAsync(() -> 2), Integer::sum).get());
        ScheduledExecutorService later = Executors.newScheduledThreadPool(1);
        System.out.println(later.schedule(() -> "scheduled", 5, TimeUnit.MILLISECONDS).get());
        later.shutdownNow();
        System.out.println(IntStream.range(0, 10000).parallel().sum() + " " + new ForkJoinPool(2).submit(() -> 7).get());
        System.out.println(new ConcurrentHashMap<>(Map.of("a", 1)).merge("a", 1, Integer::sum));
        java.util.Timer timer = new java.util.Timer(true);
        SynchronousQueue<String> queue = new SynchronousQueue<>();
        timer.schedule(new TimerTask() { public void run() { try { queue.put("timer"); } catch (InterruptedException e) { } } }, 1);
        System.out.println(queue.take());
        timer.cancel();
    }

    // feature: processes, differs at every level: starts processes
    static void processes() throws Exception {
        Process run = new ProcessBuilder("echo", "said").start();
        System.out.println(new String(run.getInputStream().readAllBytes()).trim() + run.waitFor());
    }

    // feature: sockets, differs at every level: opens sockets
    static void sockets() throws Exception { try (java.net.ServerSocket one = new java.net.ServerSocket(0)) { System.out.println(one.getLocalPort() > 0); } }

    // feature: files
    static void files() throws Exception {
        Path path = Path.of("a.txt");
        Files.writeString(path, "zeile\nwörld\n");
        Files.write(path, List.of("more"), StandardOpenOption.APPEND);
        System.out.println(Files.readAllLines(path) + " " + Files.size(path) + " " + Files.exists(path));
        Files.createDirectories(Path.of("d/e"));
        Files.copy(path, Path.of("d/e/copy.txt"));
        Files.move(path, Path.of("d/b.txt"), StandardCopyOption.REPLACE_EXISTING);
        try (Stream<Path> all = Files.walk(Path.of("d"))) { System.out.println(all.map(Path::toString).sorted().toList()); }
        try (RandomAccessFile file = new RandomAccessFile("r", "rw")) {
            file.writeInt(42);
            file.seek(0);
            System.out.println(file.readInt() + " " + file.length());
            file.setLength(2);
            MappedByteBuffer held = file.getChannel().map(FileChannel.MapMode.READ_ONLY, 0, 2);
            System.out.println(held.capacity());
        }
        try (BufferedWriter out = new BufferedWriter(new FileWriter("w"))) { out.write("w"); }
        try (Scanner in = new Scanner(new File("w"))) { System.out.println(in.next()); }
        System.out.println(new File("w").delete() + " " + new File("none").exists() + " " + new File("d").isDirectory());
        try { new FileReader("none"); } catch (FileNotFoundException e) { System.out.println(e.getMessage()); }
        Files.createSymbolicLink(Path.of("l"), Path.of("r"));
        System.out.println(Files.readSymbolicLink(Path.of("l")));
    }

    // feature: writableMappings, differs at every level: maps a file for writing in Java, JavaScript or Go
    static void writableMappings() throws Exception {
        try (RandomAccessFile file = new RandomAccessFile("mapped", "rw")) {
            file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, 10).put(0, (byte) 42);
            System.out.println(file.read());
        }
    }

    // feature: locksFiles
    static void locksFiles() throws Exception {
        try (FileChannel file = FileChannel.open(Path.of("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE); FileLock lock = file.lock()) {
            System.out.println(lock.isValid());
            file.force(true);
        }
    }

    // feature: modesAndTimesOfFiles
    static void modesAndTimesOfFiles() throws Exception {
        Files.writeString(Path.of("m"), "");
        System.out.println(new File("m").setReadable(true) + " " + new File("m").setLastModified(1000));
        Files.setPosixFilePermissions(Path.of("m"), java.nio.file.attribute.PosixFilePermissions.fromString("rw-r--r--"));
    }

    // feature: temporaryFiles
    static void temporaryFiles() throws Exception {
        File one = File.createTempFile("own", ".txt");
        one.deleteOnExit();
        Path other = Files.createTempFile("own", null), folder = Files.createTempDirectory("own");
        System.out.println(one.exists() + " " + Files.exists(other) + " " + Files.isDirectory(folder));
        Files.delete(other);
        Files.delete(folder);
        System.out.println(new File(System.getProperty("java.io.tmpdir")).canWrite());
    }

    // feature: environment
    static void environment() {
        System.out.println(System.getenv("NOT_SET") + " " + (System.getenv("PATH") != null) + " " + System.lineSeparator().length());
        System.setProperty("own", "set");
        System.out.println(System.getProperty("own") + System.getProperty("file.separator") + System.getProperty("none", "default"));
        System.out.println(System.getProperty("os.name") + (Runtime.getRuntime().availableProcessors() > 0) + (Runtime.getRuntime().totalMemory() > 0));
        System.out.println(System.getProperty("user.dir").startsWith("/") + " " + (System.console() == null));
    }

    // feature: localesAndTexts
    static void localesAndTexts() throws Exception {
        System.out.println(Locale.getDefault() + " " + NumberFormat.getInstance(Locale.GERMANY).format(1234567.891));
        System.out.println(new DecimalFormat("#,##0.00").format(1234.5) + " " + String.format(Locale.FRANCE, "%.2f", 1.5));
        System.out.println(new SimpleDateFormat("yyyy-MM-dd").format(new Date(0)) + " " + TimeZone.getDefault().getID());
        System.out.println(Collator.getInstance(Locale.US).compare("a", "B") + " " + "ß".toUpperCase() + MessageFormat.format("{0}", 1));
        System.out.println(Pattern.compile("(\\w)(\\d)").matcher("a1b2").replaceAll("$2$1") + " " + "a,b,,".split(",").length);
        System.out.println("""
            a block
              of text""" + "x".repeat(3) + " y ".strip() + String.join("-", "a", "b"));
        System.out.println(Normalizer.normalize("é", Normalizer.Form.NFD).length());
    }

    // feature: times
    static void times() throws Exception {
        long before = System.nanoTime();
        Thread.sleep(5);
        System.out.println((System.nanoTime() - before >= 5_000_000) + " " + (System.currentTimeMillis() > 1.6e12));
        System.out.println(LocalDate.of(2024, 2, 29).plusYears(1) + " " + Duration.ofSeconds(3661) + " " + ZoneId.systemDefault());
        System.out.println(ZonedDateTime.of(2024, 7, 1, 0, 0, 0, 0, ZoneId.of("America/New_York")).getOffset());
        System.out.println(Instant.EPOCH + " " + DayOfWeek.of(1));
    }

    // feature: numbers
    static void numbers() {
        System.out.println(BigInteger.TWO.pow(200).mod(BigInteger.valueOf(1_000_000_007)) + " " + new BigDecimal("1").divide(new BigDecimal("3"), 30, RoundingMode.HALF_UP));
        System.out.println(BigInteger.valueOf(97).isProbablePrime(10) + " " + Long.MAX_VALUE + " " + (Integer.MAX_VALUE + 1) + " " + 7 / -2 + " " + -7 % 3 + " " + Math.floorMod(-7, 3));
        System.out.println(0.1 + 0.2 + " " + 1.0 / 0 + " " + 0.0 / 0 + " " + (float) 1 / 3 + " " + 1e21 + " " + 100.0 + " " + Math.round(2.5) + " " + Math.sqrt(2) + " " + StrictMath.sin(1));
        System.out.println(Integer.toBinaryString(10) + Long.toHexString(255) + Integer.bitCount(255) + Character.getNumericValue('7'));
        try { Math.addExact(Integer.MAX_VALUE, 1); } catch (ArithmeticException e) { System.out.println(e.getMessage()); }
        try { System.out.println(1 / (turn * 0)); } catch (ArithmeticException e) { System.out.println(e.getMessage()); }
    }

    // feature: randomness
    static void randomness() throws Exception {
        System.out.println(new Random(42).nextInt(100) + " " + new Random(42).nextDouble() + " " + new Random(1).ints(3, 0, 10).boxed().toList());
        System.out.println((Math.random() < 1) + " " + (ThreadLocalRandom.current().nextInt(5) < 5) + " " + new SecureRandom().generateSeed(4).length + UUID.randomUUID().toString().length());
        List<Integer> all = new ArrayList<>(List.of(1, 2, 3, 4, 5));
        Collections.shuffle(all, new Random(7));
        System.out.println(all);
        System.out.println(HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest("x".getBytes())).substring(0, 8) + new SplittableRandom(1).nextInt());
    }

    // feature: collections
    static void collections() {
        Map<String, Integer> sorted = new TreeMap<>(Map.of("b", 2, "a", 1)), linked = new LinkedHashMap<>(sorted), hashed = new HashMap<>();
        for (String word : "the cat the dog".split(" ")) hashed.merge(word, 1, Integer::sum);
        PriorityQueue<Integer> queue = new PriorityQueue<>(Comparator.reverseOrder());
        queue.addAll(List.of(3, 1, 2));
        Deque<Integer> deque = new ArrayDeque<>(List.of(1, 2));
        System.out.println(sorted + " " + linked + " " + hashed + " " + queue.poll() + deque.pollLast() + new BitSet(8) + EnumSet.allOf(Colour.class));
        Map<Integer, String> grouped = Stream.of("x", "yy", "z").collect(Collectors.groupingBy(String::length, TreeMap::new, Collectors.joining("+")));
        System.out.println(grouped);
        System.out.println(Arrays.toString(IntStream.iterate(1, i -> i * 2).limit(5).toArray()) + Arrays.deepToString(new int[2][2]) + Arrays.asList(1, 2).hashCode());
        Integer[] boxed = {3, 1, 2};
        Arrays.sort(boxed, Collections.reverseOrder());
        System.out.println(Arrays.toString(boxed) + Optional.empty() + new ArrayList<>(Set.of(1)) + Objects.hash(1, 2));
        try { List.of(1).add(2); } catch (UnsupportedOperationException e) { System.out.println("unsupported"); }
        try { for (Integer each : new ArrayList<>(List.of(1, 2)) {{ }}) hashed.put("" + each, each); } catch (ConcurrentModificationException e) { }
    }

    // feature: newerLanguage
    static void newerLanguage() {
        Shape shape = new Circle(1);
        String said = switch (Colour.GREEN) { case RED -> "r"; case GREEN -> { yield Colour.GREEN.say(); } };
        System.out.println(new Point(1, 2) + said + (shape instanceof Circle c ? c.r() : 0) + new Point(1, 2).equals(new Point(1, 2)));
        var list = new ArrayList<Function<Integer, Integer>>();
        for (int i = 0; i < 3; i++) { int own = i; list.add(x -> x + own); }
        System.out.println(list.stream().map(f -> f.apply(1)).toList());
    }

    // feature: reflection
    static void reflection() throws Exception {
        Method called = Main.class.getDeclaredMethod("down", int.class);
        System.out.println(called.invoke(null, 3) + " " + Main.class.getSimpleName() + " " + Colour.valueOf("RED").ordinal());
        Runnable proxy = (Runnable) Proxy.newProxyInstance(Main.class.getClassLoader(), new Class<?>[]{Runnable.class}, (p, m, a) -> { System.out.println(m.getName()); return null; });
        proxy.run();
        System.out.println(new Throwable().getStackTrace()[0].getMethodName() + Thread.currentThread().getName());
    }

    // feature: serialization
    static void serialization() throws Exception {
        ByteArrayOutputStream held = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(held)) { out.writeObject(List.of(1, "x")); }
        System.out.println(new ObjectInputStream(new ByteArrayInputStream(held.toByteArray())).readObject());
        java.util.zip.CRC32 sum = new java.util.zip.CRC32();
        sum.update("x".getBytes());
        System.out.println(sum.getValue() + " " + Base64.getEncoder().encodeToString("xyz".getBytes()));
        ByteArrayOutputStream zipped = new ByteArrayOutputStream();
        try (java.util.zip.GZIPOutputStream out = new java.util.zip.GZIPOutputStream(zipped)) { out.write(new byte[1000]); }
        System.out.println(new java.util.zip.GZIPInputStream(new ByteArrayInputStream(zipped.toByteArray())).readAllBytes().length);
    }

    // feature: redirectsOutput
    static void redirectsOutput() throws Exception {
        PrintStream before = System.out;
        ByteArrayOutputStream held = new ByteArrayOutputStream();
        System.setOut(new PrintStream(held));
        System.out.print("caught");
        System.setOut(before);
        System.out.println(held + "!");
        System.setIn(new ByteArrayInputStream("7".getBytes()));
        System.out.println(new Scanner(System.in).nextInt());
        System.err.println("to stderr");
    }

    // feature: garbage
    static void garbage() {
        long sum = 0;
        for (int i = 0; i < 300; i++) sum += new byte[1 << 20].length;
        System.gc();
        System.out.println(sum + " " + new java.lang.ref.WeakReference<>("x").get());
    }

    // feature: readsByHasNext, alone
    static void readsByHasNext() {
        double sum = 0;
        try (Scanner in = new Scanner(System.in)) { while (in.hasNext()) if (in.hasNextDouble()) sum += in.nextDouble(); else in.next(); }
        System.out.println(sum);
    }

    // feature: readsByChannel, alone
    static void readsByChannel() throws IOException {
        ByteBuffer held = ByteBuffer.allocate(1 << 16);
        System.out.println(Channels.newChannel(System.in).read(held) + " " + StandardCharsets.UTF_8.decode(held.flip()).length());
    }

    // feature: overflowsItsStack, alone
    static void overflowsItsStack() { System.out.println(endless(0)); }

    // feature: failsToInitialize, alone
    static class Broken { static int value = Integer.parseInt("x"); }
    static void failsToInitialize() { System.out.println(Broken.value); }

    // feature: halts, alone
    static void halts() {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("never")));
        System.out.println("said");
        Runtime.getRuntime().halt(9);
    }

    // feature: bigIntegers
    static void bigIntegers() {
        BigInteger product = BigInteger.ONE;
        for (int n = 2; n <= 300; n++) product = product.multiply(BigInteger.valueOf(n));
        System.out.println(product + " " + product.bitLength() + " " + new BigInteger("ff", 16).modInverse(BigInteger.valueOf(1009)) + product.sqrt().toString().length());
        System.out.println(new BigDecimal("0.1").add(new BigDecimal("0.2")) + " " + new BigDecimal("2").sqrt(new MathContext(40)) + " " + new BigDecimal("1E+3").toPlainString() + new BigDecimal("2.50").stripTrailingZeros());
    }

    // feature: sorting
    static void sorting() {
        List<int[]> all = new ArrayList<>();
        for (int i = 0; i < 1000; i++) all.add(new int[]{i * 37 % 10, i});
        all.sort(Comparator.comparingInt(each -> each[0]));
        System.out.println(all.get(1)[1] + " " + all.get(999)[1]);
        List<String> words = new ArrayList<>(List.of("pear", "Fig", "apple", "fig"));
        words.sort(Comparator.comparing(String::length).thenComparing(String.CASE_INSENSITIVE_ORDER).reversed());
        System.out.println(words + " " + Collections.max(words) + Arrays.binarySearch(new int[]{1, 3, 5}, 4) + Arrays.compare(new int[]{1}, new int[]{2}));
    }

    // feature: regexes
    static void regexes() {
        Matcher found = Pattern.compile("(?<key>\\w+)=(?<value>\\d+)").matcher("a=1; bc=22");
        while (found.find()) System.out.println(found.group("key") + found.start("value"));
        System.out.println(Pattern.compile("\\p{L}+", Pattern.UNICODE_CASE).matcher("日本 x").results().map(MatchResult::group).toList() + "a1b22".replaceAll("\\d+", "#") + "x".matches("(?i)X"));
        try { Pattern.compile("("); } catch (PatternSyntaxException e) { System.out.println(e.getIndex()); }
    }

    // feature: streams
    static void streams() {
        System.out.println(IntStream.rangeClosed(1, 10).boxed().collect(Collectors.partitioningBy(n -> n % 2 == 0, Collectors.summingInt(n -> n))));
        System.out.println(Stream.of("b", "a", "c").sorted(Comparator.reverseOrder()).collect(Collectors.joining(",", "[", "]")) + DoubleStream.of(1, 2, 4).summaryStatistics());
        System.out.println(Stream.iterate(1, n -> n < 50, n -> n * 3).reduce(0, Integer::sum) + " " + Stream.of(List.of(1, 2), List.of(3)).flatMap(List::stream).skip(1).findFirst().get());
        System.out.println(Stream.of(1, 2, 3, 4).takeWhile(n -> n < 3).toList() + " " + "hello".chars().filter(c -> c == 'l').count() + Stream.of("x", "y").collect(Collectors.toMap(s -> s, String::hashCode, Integer::sum, TreeMap::new)));
    }

    // feature: exceptions
    static class Own extends Exception { Own(String text, Throwable cause) { super(text, cause); } }
    static class Closes implements AutoCloseable { public void close() { System.out.println("closed"); throw new IllegalStateException("closing"); } }
    static void exceptions() {
        try (Closes held = new Closes()) { throw new Own("own", new IOException("cause")); } catch (Own e) { System.out.println(e.getMessage() + e.getCause().getMessage() + e.getSuppressed().length); }
        for (Runnable wrong : new Runnable[]{() -> new ArrayList<>(List.of(1)).listIterator().set(2), () -> { Object[] all = new String[1]; all[0] = 1; }, () -> { int[] all = new int[-1]; }, () -> Integer.parseInt("9999999999"), () -> ((Object) null).hashCode(), () -> { Object o = "x"; Integer n = (Integer) o; }, () -> "x".charAt(5), () -> List.of().iterator().next(), () -> Colour.valueOf("BLUE")})
            try { wrong.run(); } catch (Exception e) { System.out.println(e.getClass().getName()); }
        try { System.out.println(new int[0][3].length); } catch (ArrayIndexOutOfBoundsException e) { System.out.println(e.getMessage()); } finally { System.out.println("finally"); }
    }

    // feature: unicode
    static void unicode() throws Exception {
        String text = "wörld 日本 😀";
        System.out.println(text.length() + " " + text.codePoints().count() + new StringBuilder(text).reverse() + text.toUpperCase() + Character.getName('é') + Character.isLetter('日'));
        System.out.println(Arrays.toString("é😀".getBytes("UTF-16BE")) + new String(new byte[]{(byte) 0xe9}, StandardCharsets.ISO_8859_1) + new String(new byte[]{(byte) 0xff}, StandardCharsets.UTF_8).codePointAt(0) + "\u00e9\101");
    }

    // feature: generics
    static <T extends Comparable<T>> T greatest(Collection<? extends T> all) { T best = null; for (T each : all) if (best == null || each.compareTo(best) > 0) best = each; return best; }
    static int total(int... all) { int sum = 0; for (int each : all) sum += each; return sum; }
    static void generics() {
        BiFunction<Integer, Integer, Integer> adds = Integer::sum;
        Supplier<List<String>> makes = ArrayList::new;
        UnaryOperator<Integer> twice = n -> n * 2;
        System.out.println(greatest(List.of(3, 9, 2)) + total() + total(1, 2) + " " + adds.andThen(twice).apply(20, 1) + makes.get() + Function.<Integer>identity().compose(twice).apply(4));
        Iterable<Integer> counts = () -> new Iterator<>() { int n; public boolean hasNext() { return n < 3; } public Integer next() { return n++; } };
        for (int n : counts) System.out.print(n + " ");
        System.out.println((Object) 'x' instanceof Character c && c == 'x' ? "char" : "other");
    }

    // feature: interrupts
    static void interrupts() throws Exception {
        Thread sleeper = new Thread(() -> { try { Thread.sleep(60_000); } catch (InterruptedException e) { System.out.println("interrupted"); } });
        sleeper.start();
        sleeper.interrupt();
        sleeper.join();
        System.out.println(sleeper.getState() + " " + sleeper.isAlive());
        Semaphore room = new Semaphore(1);
        System.out.println(room.tryAcquire() + " " + room.tryAcquire(1, TimeUnit.MILLISECONDS));
        try { CompletableFuture.supplyAsync(() -> { throw new IllegalStateException("carried"); }).join(); } catch (CompletionException e) { System.out.println(e.getCause().getMessage()); }
        System.out.println(CompletableFuture.supplyAsync(() -> 1).orTimeout(30, TimeUnit.SECONDS).thenApply(n -> n + 1).whenComplete((n, e) -> System.out.println(e)).join());
    }

    public static void main(String[] args) throws Throwable {
        StringBuilder line = new StringBuilder();
        for (int c; (c = System.in.read()) != '\n' && c >= 0;) line.append((char) c);
        String[] names = line.toString().split(" ");
        for (String name : names) {
            Method found = Main.class.getDeclaredMethod(name);
            try {
                if (names.length > 1) System.out.println("== " + name);
                found.invoke(null);
            } catch (InvocationTargetException e) {
                if (names.length == 1) throw e.getCause();
                System.out.println(e.getCause());
            }
            System.out.flush();
        }
    }
}
