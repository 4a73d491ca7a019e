
/** Carries calls between tests and the program that they test, which run in two processes (apart/java.py). */
final class RewardkitProgram {
    private static final int ENDED = 97;

    // Standard input is the socket between the processes, so it is also written to.
    private static final java.io.DataInputStream IN = new java.io.DataInputStream(
            new java.io.BufferedInputStream(new java.io.FileInputStream(java.io.FileDescriptor.in)));
    private static final java.io.FileOutputStream OUT = new java.io.FileOutputStream(java.io.FileDescriptor.in);

    private static final java.util.Map<String, java.util.function.Supplier<Object>> CONTAINERS = java.util.Map.ofEntries(
            java.util.Map.entry("ArrayList", java.util.ArrayList::new),
            java.util.Map.entry("LinkedList", java.util.LinkedList::new),
            java.util.Map.entry("Vector", java.util.Vector::new),
            java.util.Map.entry("Stack", java.util.Stack::new),
            java.util.Map.entry("ArrayDeque", java.util.ArrayDeque::new),
            java.util.Map.entry("PriorityQueue", java.util.PriorityQueue::new),
            java.util.Map.entry("HashSet", java.util.HashSet::new),
            java.util.Map.entry("LinkedHashSet", java.util.LinkedHashSet::new),
            java.util.Map.entry("TreeSet", java.util.TreeSet::new),
            java.util.Map.entry("HashMap", java.util.HashMap::new),
            java.util.Map.entry("LinkedHashMap", java.util.LinkedHashMap::new),
            java.util.Map.entry("TreeMap", java.util.TreeMap::new));

    /** Calls the program's function from the tests, and returns its result. */
    static Object ask(Object... arguments) {
        try {
            send(out -> {
                out.writeInt(arguments.length);
                for (Object argument : arguments) put(out, argument);
            });
            IN.readInt();
        } catch (java.io.IOException error) {
            System.err.println("the program ended before it answered");
            Runtime.getRuntime().halt(ENDED);
        }
        try {
            if (IN.readBoolean()) RewardkitProgram.<RuntimeException>raise(IN.readUTF(), IN.readUTF());
            Object result = get();
            for (Object argument : arguments) copyBack(argument, get());
            return result;
        } catch (java.io.IOException error) {
            throw new IllegalStateException("the answer of the program cannot be read", error);
        }
    }

    /** Answers calls of a method until the tests end. */
    static void serve(String owner, String name) throws Exception {
        while (true) {
            try {
                IN.readInt();
            } catch (java.io.IOException error) {
                Runtime.getRuntime().halt(0);
            }
            Object[] arguments = new Object[IN.readInt()];
            for (int i = 0; i < arguments.length; i++) arguments[i] = get();
            byte[] answer;
            try {
                Object result = call(owner, name, arguments);
                answer = bytes(out -> {
                    out.writeBoolean(false);
                    put(out, result);
                    for (Object argument : arguments) put(out, argument);
                });
            } catch (Throwable error) {
                answer = bytes(out -> {
                    Class<?> known = error.getClass();
                    while (!known.getName().startsWith("java.")) known = known.getSuperclass();
                    out.writeBoolean(true);
                    out.writeUTF(known.getName());
                    String message = String.valueOf(error.getMessage());
                    out.writeUTF(message.substring(0, Math.min(message.length(), 2000)));
                });
            }
            OUT.write(answer);
        }
    }

    private static Object call(String owner, String name, Object[] arguments) throws Throwable {
        String at = RewardkitProgram.class.getPackageName();
        Class<?> found = Class.forName(at.isEmpty() ? owner : at + "." + owner);
        RuntimeException unsuited = new IllegalArgumentException("no method " + owner + "." + name + " takes these arguments");
        for (java.lang.reflect.Method method : found.getDeclaredMethods()) {
            if (!method.getName().equals(name) || method.getParameterCount() != arguments.length) continue;
            try {
                method.setAccessible(true);
                boolean isStatic = java.lang.reflect.Modifier.isStatic(method.getModifiers());
                return method.invoke(isStatic ? null : make(found), arguments);
            } catch (IllegalArgumentException error) {
                unsuited = error;
            } catch (java.lang.reflect.InvocationTargetException error) {
                throw error.getCause();
            }
        }
        throw unsuited;
    }

    private static Object make(Class<?> found) throws ReflectiveOperationException {
        java.lang.reflect.Constructor<?> constructor = found.getDeclaredConstructor();
        constructor.setAccessible(true);
        return constructor.newInstance();
    }

    private interface Writing {
        void to(java.io.DataOutputStream out) throws java.io.IOException;
    }

    private static void send(Writing writing) throws java.io.IOException {
        OUT.write(bytes(writing));
    }

    /** Returns a message. It starts with a number, whose absence shows that the other process has ended. */
    private static byte[] bytes(Writing writing) throws java.io.IOException {
        java.io.ByteArrayOutputStream held = new java.io.ByteArrayOutputStream();
        java.io.DataOutputStream out = new java.io.DataOutputStream(held);
        out.writeInt(0);
        writing.to(out);
        return held.toByteArray();
    }

    private static void put(java.io.DataOutputStream out, Object value) throws java.io.IOException {
        if (value == null) out.writeByte('n');
        else if (value instanceof Boolean) { out.writeByte('b'); out.writeBoolean((Boolean) value); }
        else if (value instanceof Character) { out.writeByte('c'); out.writeChar((Character) value); }
        else if (value instanceof Byte) { out.writeByte('y'); out.writeByte((Byte) value); }
        else if (value instanceof Short) { out.writeByte('s'); out.writeShort((Short) value); }
        else if (value instanceof Integer) { out.writeByte('i'); out.writeInt((Integer) value); }
        else if (value instanceof Long) { out.writeByte('l'); out.writeLong((Long) value); }
        else if (value instanceof Float) { out.writeByte('f'); out.writeFloat((Float) value); }
        else if (value instanceof Double) { out.writeByte('d'); out.writeDouble((Double) value); }
        else if (value instanceof String) { out.writeByte('t'); putText(out, (String) value); }
        else if (value instanceof java.math.BigInteger) { out.writeByte('I'); putText(out, value.toString()); }
        else if (value instanceof java.math.BigDecimal) { out.writeByte('D'); putText(out, value.toString()); }
        else if (value instanceof java.util.Optional) { out.writeByte('o'); put(out, ((java.util.Optional<?>) value).orElse(null)); }
        else if (value instanceof java.util.OptionalInt) {
            java.util.OptionalInt held = (java.util.OptionalInt) value;
            out.writeByte('p');
            put(out, held.isPresent() ? held.getAsInt() : null);
        } else if (value instanceof java.util.OptionalDouble) {
            java.util.OptionalDouble held = (java.util.OptionalDouble) value;
            out.writeByte('q');
            put(out, held.isPresent() ? held.getAsDouble() : null);
        } else if (value instanceof java.util.Collection) {
            putContainer(out, value, value instanceof java.util.Set ? "LinkedHashSet" : "ArrayList");
            putAll(out, ((java.util.Collection<?>) value).toArray());
        } else if (value instanceof java.util.Map) {
            putContainer(out, value, "LinkedHashMap");
            putAll(out, ((java.util.Map<?, ?>) value).keySet().toArray());
            putAll(out, ((java.util.Map<?, ?>) value).values().toArray());
        } else if (value instanceof java.util.Map.Entry) {
            out.writeByte('e');
            put(out, ((java.util.Map.Entry<?, ?>) value).getKey());
            put(out, ((java.util.Map.Entry<?, ?>) value).getValue());
        } else if (value.getClass().isArray()) {
            out.writeByte('a');
            out.writeUTF(value.getClass().getComponentType().getName());
            int length = java.lang.reflect.Array.getLength(value);
            out.writeInt(length);
            for (int i = 0; i < length; i++) put(out, java.lang.reflect.Array.get(value, i));
        } else throw new IllegalArgumentException("a value of " + value.getClass() + " cannot be sent to the tests");
    }

    private static void putContainer(java.io.DataOutputStream out, Object value, String usual) throws java.io.IOException {
        boolean known = value.getClass().getName().equals("java.util." + value.getClass().getSimpleName())
                && CONTAINERS.containsKey(value.getClass().getSimpleName());
        out.writeByte(value instanceof java.util.Map ? 'M' : 'C');
        out.writeUTF(known ? value.getClass().getSimpleName() : usual);
    }

    private static void putAll(java.io.DataOutputStream out, Object[] items) throws java.io.IOException {
        out.writeInt(items.length);
        for (Object item : items) put(out, item);
    }

    private static void putText(java.io.DataOutputStream out, String text) throws java.io.IOException {
        out.writeInt(text.length());
        out.writeChars(text);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Object get() throws java.io.IOException {
        int kind = IN.readByte();
        switch (kind) {
            case 'n': return null;
            case 'b': return IN.readBoolean();
            case 'c': return IN.readChar();
            case 'y': return IN.readByte();
            case 's': return IN.readShort();
            case 'i': return IN.readInt();
            case 'l': return IN.readLong();
            case 'f': return IN.readFloat();
            case 'd': return IN.readDouble();
            case 't': return getText();
            case 'I': return new java.math.BigInteger(getText());
            case 'D': return new java.math.BigDecimal(getText());
            case 'o': return java.util.Optional.ofNullable(get());
            case 'p': {
                Object held = get();
                return held == null ? java.util.OptionalInt.empty() : java.util.OptionalInt.of((Integer) held);
            }
            case 'q': {
                Object held = get();
                return held == null ? java.util.OptionalDouble.empty() : java.util.OptionalDouble.of((Double) held);
            }
            case 'C': {
                java.util.Collection made = (java.util.Collection) container();
                for (int left = IN.readInt(); left > 0; left--) made.add(get());
                return made;
            }
            case 'M': {
                java.util.Map made = (java.util.Map) container();
                java.util.List keys = new java.util.ArrayList();
                for (int left = IN.readInt(); left > 0; left--) keys.add(get());
                int count = IN.readInt();
                for (int i = 0; i < count; i++) made.put(keys.get(i), get());
                return made;
            }
            case 'e': {
                Object key = get();
                return new java.util.AbstractMap.SimpleEntry(key, get());
            }
            case 'a': {
                Class<?> component = component(IN.readUTF());
                Object made = java.lang.reflect.Array.newInstance(component, IN.readInt());
                for (int i = 0; i < java.lang.reflect.Array.getLength(made); i++) java.lang.reflect.Array.set(made, i, get());
                return made;
            }
            default: throw new java.io.IOException("unknown kind of value " + kind);
        }
    }

    private static Object container() throws java.io.IOException {
        java.util.function.Supplier<Object> made = CONTAINERS.get(IN.readUTF());
        if (made == null) throw new java.io.IOException("unknown kind of container");
        return made.get();
    }

    private static Class<?> component(String name) throws java.io.IOException {
        for (Class<?> plain : new Class<?>[] {boolean.class, char.class, byte.class, short.class, int.class, long.class, float.class, double.class}) {
            if (plain.getName().equals(name)) return plain;
        }
        try {
            if (name.matches("\\[+[ZCBSIJFD]|\\[*L?java\\.(lang|util|math)\\.\\w+;?")) {
                return Class.forName(name, false, Object.class.getClassLoader());
            }
        } catch (ClassNotFoundException error) {
            throw new java.io.IOException(error);
        }
        throw new java.io.IOException("an array of " + name + " cannot be sent");
    }

    private static String getText() throws java.io.IOException {
        char[] text = new char[IN.readInt()];
        for (int i = 0; i < text.length; i++) text[i] = IN.readChar();
        return new String(text);
    }

    /** Changes an argument of the tests as the program has changed it. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    private static void copyBack(Object mine, Object changed) {
        try {
            if (mine != null && mine.getClass().isArray()) {
                System.arraycopy(changed, 0, mine, 0, java.lang.reflect.Array.getLength(mine));
            } else if (mine instanceof java.util.List && ((java.util.List) mine).size() == ((java.util.List) changed).size()) {
                java.util.Iterator items = ((java.util.List) changed).iterator();
                if (!mine.equals(changed)) ((java.util.List) mine).replaceAll(item -> items.next());
            } else if (mine instanceof java.util.Collection && !mine.equals(changed)) {
                ((java.util.Collection) mine).clear();
                ((java.util.Collection) mine).addAll((java.util.Collection) changed);
            } else if (mine instanceof java.util.Map && !mine.equals(changed)) {
                ((java.util.Map) mine).clear();
                ((java.util.Map) mine).putAll((java.util.Map) changed);
            }
        } catch (UnsupportedOperationException error) {
            return; // the tests cannot look at a change of an immutable collection
        }
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> void raise(String name, String message) throws E {
        Throwable made = new RuntimeException(message);
        try {
            Class<?> found = Class.forName(name, false, Object.class.getClassLoader());
            if (Throwable.class.isAssignableFrom(found)) {
                made = (Throwable) found.getConstructor(String.class).newInstance(message);
            }
        } catch (ReflectiveOperationException | LinkageError error) {
            made = new RuntimeException(name + ": " + message);
        }
        throw (E) made;
    }
}
