
// Carries calls between tests and the program that they test, which run in two processes (apart/rust.py).
#[allow(dead_code)]
pub mod rewardkit_program {
    use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
    use std::fs::File;
    use std::hash::Hash;
    use std::io::{Read, Write};
    use std::mem::ManuallyDrop;
    use std::os::unix::io::FromRawFd;

    const ENDED: i32 = 97;

    // Standard input is the socket between the processes.
    fn socket() -> ManuallyDrop<File> {
        ManuallyDrop::new(unsafe { File::from_raw_fd(0) })
    }

    fn receive() -> Option<Vec<u8>> {
        let mut size = [0u8; 8];
        socket().read_exact(&mut size).ok()?;
        let mut data = Vec::new();
        let wanted = u64::from_le_bytes(size);
        let mut file = socket();
        (&mut *file).take(wanted).read_to_end(&mut data).ok()?;
        if data.len() as u64 == wanted { Some(data) } else { None }
    }

    fn send(data: &[u8]) -> bool {
        let mut whole = (data.len() as u64).to_le_bytes().to_vec();
        whole.extend_from_slice(data);
        socket().write_all(&whole).is_ok()
    }

    fn exit(status: i32) -> ! {
        extern "C" {
            fn _exit(status: i32) -> !;
        }
        unsafe { _exit(status) }
    }

    pub struct Message {
        data: Vec<u8>,
        at: usize,
    }

    impl Message {
        pub fn new() -> Message {
            Message { data: Vec::new(), at: 0 }
        }

        fn bytes(&mut self, size: usize) -> &[u8] {
            let end = self.at.checked_add(size).filter(|end| *end <= self.data.len());
            let end = end.expect("the message is too short");
            let found = &self.data[self.at..end];
            self.at = end;
            found
        }

        /// Send a call and return the answer, or end the tests if the program has ended.
        pub fn ask(&self) -> Message {
            let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let answer = if send(&self.data) { receive() } else { None };
            let Some(data) = answer else {
                eprintln!("the program ended before it answered");
                exit(ENDED)
            };
            let mut message = Message { data, at: 0 };
            if bool::get(&mut message) {
                panic!("{}", String::get(&mut message));
            }
            message
        }
    }

    // Tests run in several threads, but share one socket.
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

    /// Answer calls until the tests end.
    pub fn serve(answer: fn(&mut Message, &mut Message)) -> ! {
        while let Some(data) = receive() {
            let played = std::panic::catch_unwind(move || {
                let mut message = Message::new();
                false.put(&mut message);
                answer(&mut Message { data, at: 0 }, &mut message);
                message
            });
            let message = played.unwrap_or_else(|error| {
                let mut message = Message::new();
                true.put(&mut message);
                let text = match (error.downcast_ref::<&str>(), error.downcast_ref::<String>()) {
                    (Some(text), _) => text.to_string(),
                    (_, Some(text)) => text.clone(),
                    _ => String::from("the program panicked"),
                };
                text.put(&mut message);
                message
            });
            if !send(&message.data) {
                break;
            }
        }
        exit(0)
    }

    /// A value that can be sent by content.
    pub trait Put {
        fn put(&self, message: &mut Message);
    }

    /// A value that can be sent and received by content.
    pub trait Wire: Put {
        fn get(message: &mut Message) -> Self;
    }

    macro_rules! plain {
        ($($kind:ty),*) => {$(
            impl Put for $kind {
                fn put(&self, message: &mut Message) {
                    message.data.extend_from_slice(&self.to_le_bytes());
                }
            }

            impl Wire for $kind {
                fn get(message: &mut Message) -> Self {
                    <$kind>::from_le_bytes(message.bytes(std::mem::size_of::<$kind>()).try_into().unwrap())
                }
            }
        )*};
    }
    plain!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64);

    impl Put for () {
        fn put(&self, _: &mut Message) {}
    }

    impl Wire for () {
        fn get(_: &mut Message) {}
    }

    impl Put for bool {
        fn put(&self, message: &mut Message) {
            (*self as u8).put(message);
        }
    }

    impl Wire for bool {
        fn get(message: &mut Message) -> Self {
            u8::get(message) != 0
        }
    }

    impl Put for char {
        fn put(&self, message: &mut Message) {
            (*self as u32).put(message);
        }
    }

    impl Wire for char {
        fn get(message: &mut Message) -> Self {
            char::from_u32(u32::get(message)).expect("not a character")
        }
    }

    impl Put for str {
        fn put(&self, message: &mut Message) {
            self.len().put(message);
            message.data.extend_from_slice(self.as_bytes());
        }
    }

    impl Put for String {
        fn put(&self, message: &mut Message) {
            self.as_str().put(message);
        }
    }

    impl Wire for String {
        fn get(message: &mut Message) -> Self {
            let size = usize::get(message);
            String::from_utf8(message.bytes(size).to_vec()).expect("not a text")
        }
    }

    // A borrowed value is kept for ever, so that it suits every lifetime.
    impl Wire for &'static str {
        fn get(message: &mut Message) -> Self {
            Box::leak(String::get(message).into_boxed_str())
        }
    }

    impl<T: Put + ?Sized> Put for &T {
        fn put(&self, message: &mut Message) {
            (**self).put(message);
        }
    }

    impl<T: Wire> Wire for &'static T {
        fn get(message: &mut Message) -> Self {
            Box::leak(Box::new(T::get(message)))
        }
    }

    impl<T: Put> Put for [T] {
        fn put(&self, message: &mut Message) {
            self.len().put(message);
            self.iter().for_each(|item| item.put(message));
        }
    }

    impl<T: Wire> Wire for &'static [T] {
        fn get(message: &mut Message) -> Self {
            Box::leak(Vec::get(message).into_boxed_slice())
        }
    }

    impl<T: Put, const N: usize> Put for [T; N] {
        fn put(&self, message: &mut Message) {
            self.iter().for_each(|item| item.put(message));
        }
    }

    impl<T: Wire, const N: usize> Wire for [T; N] {
        fn get(message: &mut Message) -> Self {
            std::array::from_fn(|_| T::get(message))
        }
    }

    impl<T: Put> Put for Box<T> {
        fn put(&self, message: &mut Message) {
            (**self).put(message);
        }
    }

    impl<T: Wire> Wire for Box<T> {
        fn get(message: &mut Message) -> Self {
            Box::new(T::get(message))
        }
    }

    impl<T: Put> Put for Option<T> {
        fn put(&self, message: &mut Message) {
            self.is_some().put(message);
            self.iter().for_each(|item| item.put(message));
        }
    }

    impl<T: Wire> Wire for Option<T> {
        fn get(message: &mut Message) -> Self {
            if bool::get(message) { Some(T::get(message)) } else { None }
        }
    }

    impl<T: Put, E: Put> Put for Result<T, E> {
        fn put(&self, message: &mut Message) {
            self.is_ok().put(message);
            match self {
                Ok(value) => value.put(message),
                Err(error) => error.put(message),
            }
        }
    }

    impl<T: Wire, E: Wire> Wire for Result<T, E> {
        fn get(message: &mut Message) -> Self {
            if bool::get(message) { Ok(T::get(message)) } else { Err(E::get(message)) }
        }
    }

    macro_rules! containers {
        ($($kind:ident<$item:ident> $(where $($bound:path),+)?);*) => {$(
            impl<$item: Put $($(+ $bound)+)?> Put for $kind<$item> {
                fn put(&self, message: &mut Message) {
                    self.len().put(message);
                    self.iter().for_each(|item| item.put(message));
                }
            }

            impl<$item: Wire $($(+ $bound)+)?> Wire for $kind<$item> {
                fn get(message: &mut Message) -> Self {
                    let size = usize::get(message);
                    (0..size).map(|_| $item::get(message)).collect()
                }
            }
        )*};
    }
    containers!(Vec<T>; VecDeque<T>; LinkedList<T>; HashSet<T> where Eq, Hash; BTreeSet<T> where Ord);

    macro_rules! maps {
        ($($kind:ident where $($bound:path),+);*) => {$(
            impl<K: Put $(+ $bound)+, V: Put> Put for $kind<K, V> {
                fn put(&self, message: &mut Message) {
                    self.len().put(message);
                    for (key, value) in self {
                        key.put(message);
                        value.put(message);
                    }
                }
            }

            impl<K: Wire $(+ $bound)+, V: Wire> Wire for $kind<K, V> {
                fn get(message: &mut Message) -> Self {
                    let size = usize::get(message);
                    (0..size).map(|_| (K::get(message), V::get(message))).collect()
                }
            }
        )*};
    }
    maps!(HashMap where Eq, Hash; BTreeMap where Ord);

    macro_rules! tuples {
        ($(($($name:ident),+)),*) => {$(
            #[allow(non_snake_case)]
            impl<$($name: Put),+> Put for ($($name,)+) {
                fn put(&self, message: &mut Message) {
                    let ($($name,)+) = self;
                    $($name.put(message);)+
                }
            }

            #[allow(non_snake_case)]
            impl<$($name: Wire),+> Wire for ($($name,)+) {
                fn get(message: &mut Message) -> Self {
                    ($($name::get(message),)+)
                }
            }
        )*};
    }
    tuples!((A), (A, B), (A, B, C), (A, B, C, D), (A, B, C, D, E), (A, B, C, D, E, F));
}
