// What Rust programs use: the first line of stdin names the features to play, the rest is their input.

use std::cell::RefCell;
use std::collections::*;
use std::fs;
use std::io::{self, prelude::*};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Barrier, Condvar, Mutex, OnceLock, RwLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

macro_rules! table {
    ($($name:ident),* $(,)?) => { &[$((stringify!($name), $name)),*] };
}
type Played = Result<(), Box<dyn std::error::Error>>;

// feature: prints
fn prints() -> Played {
    println!("{} {:?} {:5.2}|{:<5}|{:05}|{:#x}|{:e}|{:>width$}", 1, "x", 3.14159, 7, 42, 255, 1234.5, "r", width = 4);
    print!("no newline");
    io::stdout().flush()?;
    writeln!(io::stdout().lock(), " locked")?;
    let mut held = io::BufWriter::new(io::stdout());
    writeln!(held, "{:#?} {:?} wörld", (1, "a"), Some([1, 2]))?;
    eprintln!("to stderr");
    println!("{} {} {} {:?} {}", 1e21, 0.1 + 0.2, f64::NAN, 1.0, f64::MAX);
    Ok(())
}
// feature: prints_much
fn prints_much() -> Played {
    for i in 0..50000 {
        println!("{} {}", i, i * 2);
    }
    Ok(())
}
// feature: reads_lines, alone
fn reads_lines() -> Played {
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    println!("{}", line.split_whitespace().map(|x| x.parse::<i32>().unwrap()).sum::<i32>());
    for line in io::stdin().lock().lines() {
        println!("[{}]", line?);
    }
    Ok(())
}
// feature: reads_all, alone
fn reads_all() -> Played {
    let text = io::read_to_string(io::stdin())?;
    println!("{} {:?}", text.len(), text.split_ascii_whitespace().next());
    Ok(())
}
// feature: reads_dev_stdin, alone
fn reads_dev_stdin() -> Played {
    println!("{}", fs::read("/dev/stdin")?.len() > 0);
    Ok(())
}
// feature: exits, alone
fn exits() -> Played {
    print!("said");
    std::process::exit(7)
}
// feature: panics, alone
fn panics() -> Played {
    println!("before");
    let all: Vec<i32> = Vec::new();
    println!("{}", all[std::env::args().count()]);
    Ok(())
}
// feature: fails, alone
fn fails() -> Played {
    Err("no".into())
}
// feature: aborts, alone
fn aborts() -> Played {
    std::process::abort()
}
// feature: overflows, alone, differs at every level: overflows the stack in Rust
fn overflows() -> Played {
    fn endless(n: u64) -> u64 {
        let frame = std::hint::black_box([n; 1000]);
        endless(n + 1) + std::hint::black_box(frame)[3]
    }
    println!("{}", endless(0));
    Ok(())
}
// feature: catches_panics
fn catches_panics() -> Played {
    std::panic::set_hook(Box::new(|_| {}));
    println!("{}", std::panic::catch_unwind(|| panic!("caught")).is_err());
    println!("{}", thread::spawn(|| panic!("in a thread")).join().is_err());
    let _ = std::panic::take_hook();
    println!("{:?} {:?} {:?}", 200u8.checked_add(100), 200u8.wrapping_add(100), "x".parse::<i32>().is_err());
    Ok(())
}
// feature: threads
fn threads() -> Played {
    let total = Arc::new(Mutex::new(0));
    let barrier = Arc::new(Barrier::new(8));
    let all: Vec<_> = (0..8)
        .map(|i| {
            let (total, barrier) = (total.clone(), barrier.clone());
            thread::spawn(move || {
                barrier.wait();
                for _ in 0..1000 {
                    *total.lock().unwrap() += i;
                }
                i
            })
        })
        .collect();
    let sum: i32 = all.into_iter().map(|each| each.join().unwrap()).sum();
    println!("{} {}", total.lock().unwrap(), sum);
    let (send, receive) = mpsc::channel();
    for i in 0..3 {
        let send = send.clone();
        thread::spawn(move || send.send(i).unwrap());
    }
    drop(send);
    let mut got: Vec<i32> = receive.iter().collect();
    got.sort();
    println!("{:?}", got);
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let other = pair.clone();
    thread::spawn(move || {
        *other.0.lock().unwrap() = true;
        other.1.notify_one();
    });
    let _ready = pair.1.wait_while(pair.0.lock().unwrap(), |ready| !*ready).unwrap();
    Ok(())
}
// feature: scopes_and_atomics
fn scopes_and_atomics() -> Played {
    let count = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| count.fetch_add(1, Ordering::SeqCst));
        }
    });
    static ONCE: OnceLock<String> = OnceLock::new();
    println!("{:?} {} {}", count, ONCE.get_or_init(|| "once".into()), RwLock::new(5).read().unwrap());
    println!("{}", thread::available_parallelism()?.get() > 0);
    Ok(())
}
// feature: recursion
fn recursion() -> Played {
    fn down(n: u64) -> u64 {
        if n == 0 { 0 } else { 1 + std::hint::black_box(down(n - 1)) }
    }
    println!("{}", down(20000));
    println!("{}", thread::Builder::new().stack_size(256 << 20).spawn(|| down(1000000))?.join().unwrap());
    Ok(())
}
// feature: processes, differs at every level: starts processes
fn processes() -> Played {
    let done = std::process::Command::new("echo").arg("said").output()?;
    println!("{}", String::from_utf8(done.stdout)?);
    Ok(())
}
// feature: sockets, differs at every level: opens sockets
fn sockets() -> Played {
    println!("{}", std::net::TcpListener::bind("127.0.0.1:0").is_ok());
    Ok(())
}
// feature: files
fn files() -> Played {
    fs::write("a.txt", "zeile\nwörld\n")?;
    fs::OpenOptions::new().append(true).open("a.txt")?.write_all(b"more")?;
    println!("{:?} {}", fs::read_to_string("a.txt")?.lines().collect::<Vec<_>>(), fs::metadata("a.txt")?.len());
    fs::create_dir_all("d/e")?;
    println!("{}", fs::copy("a.txt", "d/e/copy.txt")?);
    fs::rename("a.txt", "d/b.txt")?;
    let mut names: Vec<_> = fs::read_dir("d")?.map(|each| each.unwrap().file_name()).collect();
    names.sort();
    println!("{:?}", names);
    let mut file = fs::File::options().read(true).write(true).create(true).open("f")?;
    file.write_all(b"0123456789")?;
    file.seek(io::SeekFrom::Start(5))?;
    file.set_len(8)?;
    file.sync_all()?;
    let mut rest = String::new();
    file.read_to_string(&mut rest)?;
    fs::set_permissions("f", fs::metadata("f")?.permissions())?;
    std::os::unix::fs::symlink("f", "l")?;
    println!("{} {:?} {}", rest, fs::read_link("l")?, fs::canonicalize("l")?.ends_with("f"));
    println!("{:?}", fs::File::open("none").map_err(|error| error.kind()).err());
    fs::remove_dir_all("d")?;
    Ok(())
}
// feature: temporary_files
fn temporary_files() -> Played {
    let path = std::env::temp_dir().join(format!("own-{}", std::process::id()));
    fs::write(&path, "x")?;
    println!("{}", fs::read_to_string(&path)?);
    fs::remove_file(&path)?;
    Ok(())
}
// feature: environment
fn environment() -> Played {
    println!("{:?} {} {}", std::env::var("NOT_SET").is_err(), std::env::var("PATH").is_ok(), std::env::args().count());
    println!("{} {}", std::env::current_dir()?.is_absolute(), std::env::consts::OS);
    Ok(())
}
// feature: times
fn times() -> Played {
    let before = Instant::now();
    thread::sleep(Duration::from_millis(5));
    println!("{} {}", before.elapsed() >= Duration::from_millis(5), SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs() > 1_600_000_000);
    Ok(())
}
// feature: collections
fn collections() -> Played {
    let mut counts: HashMap<&str, i32> = HashMap::new();
    for word in "the cat the dog".split(' ') {
        *counts.entry(word).or_default() += 1;
    }
    let sorted: BTreeMap<_, _> = counts.into_iter().collect();
    let mut heap = BinaryHeap::from([3, 1, 2]);
    let mut ends = VecDeque::from([1, 2]);
    ends.push_front(0);
    println!("{:?} {:?} {:?} {:?}", sorted, heap.pop(), ends, BTreeSet::from([2, 1]));
    let mut all = vec![3, 1, 2];
    all.sort_unstable_by(|a, b| b.cmp(a));
    println!("{:?} {:?} {:?}", all, all.iter().rev().zip(1..).collect::<Vec<_>>(), all.chunks(2).map(<[i32]>::len).collect::<Vec<_>>());
    Ok(())
}
// feature: texts
fn texts() -> Played {
    println!("{} {} {:?}", "wörld".len(), "wörld".chars().rev().collect::<String>(), "a,b".split_once(','));
    println!("{} {:?} {}", "ß".to_uppercase(), "é".bytes().collect::<Vec<_>>(), String::from_utf8_lossy(b"a\xff"));
    println!("{:?} {} {}", "x".repeat(3), "Abc".eq_ignore_ascii_case("aBC"), 'a' as u32);
    Ok(())
}
// feature: numbers
fn numbers() -> Played {
    println!("{} {} {} {}", u128::MAX, 2f64.sqrt(), -7 / 2, -7i32.rem_euclid(3));
    println!("{} {} {:?} {}", 255u8.count_ones(), i64::pow(3, 30), 10u32.checked_sub(11), (2.5f64).round());
    Ok(())
}
// feature: memory
fn memory() -> Played {
    let all: Vec<Vec<u8>> = (0..100).map(|i| vec![i; 1 << 20]).collect();
    println!("{}", all.iter().map(|each| each[5] as u32).sum::<u32>());
    let mut held: Vec<u8> = Vec::new();
    println!("{}", held.try_reserve(1 << 60).is_err());
    Ok(())
}
// feature: ownership
fn ownership() -> Played {
    trait Speaks {
        fn say(&self) -> String;
    }
    struct Dog(Rc<RefCell<i32>>);
    impl Speaks for Dog {
        fn say(&self) -> String {
            *self.0.borrow_mut() += 1;
            format!("dog {}", self.0.borrow())
        }
    }
    impl Drop for Dog {
        fn drop(&mut self) {
            println!("dropped");
        }
    }
    let count = Rc::new(RefCell::new(0));
    let all: Vec<Box<dyn Speaks>> = vec![Box::new(Dog(count.clone()))];
    println!("{} {} {}", all[0].say(), Rc::strong_count(&count), count.try_borrow_mut().is_ok());
    Ok(())
}
// feature: sums_its_input, alone
fn sums_its_input() -> Played {
    let words = io::read_to_string(io::stdin())?;
    let numbers: Vec<f64> = words.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    println!("{} {:?}", numbers.iter().sum::<f64>(), numbers.iter().cloned().fold(f64::NEG_INFINITY, f64::max));
    Ok(())
}
// feature: reads_bytes, alone
fn reads_bytes() -> Played {
    let mut held = io::BufReader::with_capacity(4, io::stdin());
    let mut line = Vec::new();
    println!("{} {:?}", held.read_until(b'\n', &mut line)?, line);
    println!("{}", held.bytes().filter(|byte| *byte.as_ref().unwrap() == b'\n').count());
    Ok(())
}
// feature: reads_exactly, alone
fn reads_exactly() -> Played {
    let mut held = [0; 4];
    io::stdin().read_exact(&mut held)?;
    println!("{:?} {:?}", held, io::stdin().read_exact(&mut [0; 9999]).map_err(|error| error.kind()));
    Ok(())
}
// feature: exits_beyond_a_byte, alone
fn exits_beyond_a_byte() -> Played {
    std::process::exit(300)
}
// feature: overflows_a_number, alone
fn overflows_a_number() -> Played {
    println!("{}", (i32::MAX - 1 + std::env::args().count() as i32).wrapping_add(1));
    println!("{}", std::hint::black_box(1) / (std::env::args().count() as i32 - 1));
    Ok(())
}
// feature: unwraps_nothing, alone
fn unwraps_nothing() -> Played {
    std::env::var("NOT_SET").ok().expect("to be set");
    Ok(())
}
// feature: panics_while_unwinding, alone
fn panics_while_unwinding() -> Played {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("again")
        }
    }
    let _held = Bomb;
    panic!("once")
}
// feature: asserts, alone
fn asserts() -> Played {
    debug_assert!(false, "left out when it is optimised");
    assert_eq!(1 + 1, 3, "sums");
    Ok(())
}
// feature: signals, alone
fn signals() -> Played {
    extern "C" {
        fn raise(signal: i32) -> i32;
    }
    println!("before");
    io::stdout().flush()?;
    unsafe { raise(15) };
    Ok(())
}
// feature: calls_c
fn calls_c() -> Played {
    extern "C" {
        fn abs(n: i32) -> i32;
        fn getpid() -> i32;
        fn signal(signal: i32, handler: extern "C" fn(i32)) -> usize;
        fn raise(signal: i32) -> i32;
    }
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn seen(_: i32) {
        SEEN.fetch_add(1, Ordering::SeqCst);
    }
    unsafe {
        signal(10, seen);
        raise(10);
        println!("{} {} {}", abs(-5), getpid() == std::process::id() as i32, SEEN.load(Ordering::SeqCst));
    }
    Ok(())
}
// feature: many_threads
fn many_threads() -> Played {
    let all: Vec<_> = (0..40).map(|i| thread::Builder::new().name(format!("own-{i}")).spawn(move || thread::current().name().map(str::len))).collect();
    println!("{}", all.into_iter().filter_map(|each| each.unwrap().join().unwrap()).sum::<usize>());
    let (send, receive) = mpsc::sync_channel(1);
    let sender = thread::spawn(move || (0..100).for_each(|i| send.send(i).unwrap()));
    println!("{} {:?}", receive.iter().sum::<i32>(), receive.recv_timeout(Duration::from_millis(1)));
    sender.join().unwrap();
    thread_local!(static OWN: RefCell<i32> = RefCell::new(1));
    OWN.with(|own| *own.borrow_mut() += 1);
    println!("{} {}", OWN.with(|own| *own.borrow()), thread::spawn(|| OWN.with(|own| *own.borrow())).join().unwrap());
    Ok(())
}
// feature: poisoned_locks
fn poisoned_locks() -> Played {
    let lock = Arc::new(Mutex::new(1));
    let other = lock.clone();
    std::panic::set_hook(Box::new(|_| {}));
    let _ = thread::spawn(move || {
        let _held = other.lock();
        panic!("with the lock")
    })
    .join();
    let _ = std::panic::take_hook();
    println!("{} {}", lock.is_poisoned(), lock.lock().unwrap_or_else(|error| error.into_inner()));
    Ok(())
}
// feature: futures
fn futures() -> Played {
    use std::future::Future;
    use std::task::{Context, Poll, Wake, Waker};
    struct Nothing;
    impl Wake for Nothing {
        fn wake(self: Arc<Self>) {}
    }
    async fn twice(n: i32) -> i32 {
        n * 2
    }
    let mut asked = Box::pin(async { twice(20).await + twice(1).await });
    let waker = Waker::from(Arc::new(Nothing));
    match asked.as_mut().poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(n) => println!("{}", n),
        Poll::Pending => println!("pending"),
    }
    Ok(())
}
// feature: pipes
fn pipes() -> Played {
    let (mut one, mut other) = std::os::unix::net::UnixStream::pair()?;
    let writer = thread::spawn(move || one.write_all(&[7; 100000]));
    let mut held = Vec::new();
    other.read_to_end(&mut held)?;
    println!("{} {:?}", held.len(), writer.join().unwrap().is_ok());
    Ok(())
}
// feature: iterators
fn iterators() -> Played {
    let (even, odd): (Vec<i32>, Vec<i32>) = (1..=10).partition(|n| n % 2 == 0);
    println!("{:?} {:?} {:?}", even, odd, even.iter().zip(&odd).map(|(a, b)| a * b).max());
    println!("{:?} {:?}", (1..4).flat_map(|n| vec![n; n]).collect::<Vec<_>>(), [1, 2, 3, 4].windows(2).map(|w| w[0] + w[1]).collect::<Vec<_>>());
    println!("{:?} {:?}", (1..10).step_by(3).rev().collect::<Vec<_>>(), std::iter::successors(Some(1u32), |n| n.checked_mul(10)).last());
    println!("{:?} {:?}", ["1", "x"].iter().map(|s| s.parse::<i32>()).collect::<Result<Vec<_>, _>>().is_err(), "abc".char_indices().skip_while(|c| c.0 < 1).collect::<Vec<_>>());
    println!("{:?}", (1..=5).scan(1, |product, n| { *product *= n; Some(*product) }).take_while(|n| *n < 100).collect::<Vec<_>>());
    Ok(())
}
// feature: stable_sorting
fn stable_sorting() -> Played {
    let mut all: Vec<(i32, i32)> = (0..1000).map(|i| (i * 37 % 10, i)).collect();
    all.sort_by_key(|each| each.0);
    println!("{:?} {:?}", &all[..4], all.binary_search_by(|each| each.cmp(&(1, 3))));
    let mut reals = vec![2.5, -1.0, f64::INFINITY, 0.0];
    reals.sort_by(|a, b| b.partial_cmp(a).unwrap());
    reals.dedup();
    println!("{:?} {:?} {}", reals, all.iter().max_by_key(|each| each.1), all.is_sorted_by_key(|each| each.0));
    Ok(())
}
// feature: big_integers
fn big_integers() -> Played {
    let mut digits = vec![1u64];
    for n in 2..=200 {
        let mut carry = 0;
        for digit in &mut digits {
            carry += *digit * n;
            *digit = carry % 1_000_000_000;
            carry /= 1_000_000_000;
        }
        if carry > 0 {
            digits.push(carry);
        }
    }
    println!("{}", digits.iter().rev().map(|digit| format!("{:09}", digit)).collect::<String>());
    println!("{} {:?} {}", i128::MIN, 5u64.overflowing_sub(6), u64::MAX.leading_zeros() + 1u8.trailing_zeros());
    Ok(())
}
// feature: floats
fn floats() -> Played {
    println!("{} {:e} {:.3} {:?} {:?}", 1.0 / 3.0, 123456.0, 2.0f64.powf(0.5), f64::EPSILON, 0.1f32 + 0.2f32);
    println!("{} {} {} {:?}", (0.0f64 / 0.0).max(1.0), f64::INFINITY, -0.0, (1e300 * 1e10, 300.7 as u8, -1.5 as u32, f64::NAN as i32));
    println!("{:?} {:?} {}", "1e3".parse::<f64>(), "inf".parse::<f64>(), 1.5f64.to_bits());
    Ok(())
}
// feature: unicode
fn unicode() -> Played {
    println!("{} {:?} {:?}", "日本 😀".len(), "日本".char_indices().last(), "é".escape_unicode().to_string());
    println!("{:?} {:?} {}", std::str::from_utf8(&[0xff]).is_err(), char::from_u32(0xd800), "😀".encode_utf16().count());
    println!("{:>6}|{:^6}|{:*<6}", "é", "日本", "x");
    Ok(())
}
// feature: formats
fn formats() -> Played {
    struct Own(i32);
    impl std::fmt::Display for Own {
        fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
            to.pad(&format!("<{}>", self.0))
        }
    }
    #[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
    struct Held {
        a: i32,
        b: Option<String>,
    }
    println!("{:>6}|{:+}|{:#010b}|{:08.3}|{:?}|{:#?}", Own(7), 5, 5, -3.14159, Held::default(), Held { a: 1, b: Some("x".into()) });
    let (width, value) = (7, 1.5);
    println!("{value:>width$.2}|{0:o}|{0:X}|{1:?}|{{}}", 255, 'q');
    Ok(())
}
// feature: errors
fn errors() -> Played {
    #[derive(Debug)]
    enum Own {
        Number(std::num::ParseIntError),
    }
    impl std::fmt::Display for Own {
        fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
            write!(to, "own error")
        }
    }
    impl std::error::Error for Own {}
    impl From<std::num::ParseIntError> for Own {
        fn from(error: std::num::ParseIntError) -> Self {
            Own::Number(error)
        }
    }
    fn reads(text: &str) -> Result<i32, Own> {
        Ok(text.parse::<i32>()? + 1)
    }
    println!("{:?} {:?}", reads("41"), reads("x"));
    reads("")?;
    Ok(())
}
// feature: generics
fn generics() -> Played {
    trait Area {
        const SIDES: u32;
        fn area(&self) -> f64;
        fn twice(&self) -> f64 {
            self.area() * 2.0
        }
    }
    struct Square(f64);
    impl Area for Square {
        const SIDES: u32 = 4;
        fn area(&self) -> f64 {
            self.0 * self.0
        }
    }
    fn total<T: Area, const N: usize>(all: [T; N]) -> f64 {
        all.iter().map(T::twice).sum::<f64>() + T::SIDES as f64
    }
    fn adder(n: i32) -> impl Fn(i32) -> i32 {
        move |m| n + m
    }
    let boxed: Vec<Box<dyn Fn(i32) -> i32>> = vec![Box::new(adder(1)), Box::new(|n| n * n)];
    println!("{} {:?}", total([Square(1.0), Square(2.0)]), boxed.iter().map(|f| f(5)).collect::<Vec<_>>());
    Ok(())
}
// feature: patterns
fn patterns() -> Played {
    for n in [0, 5, 42, -1] {
        println!("{}", match n { 0 => "zero".into(), x @ 1..=9 => format!("small {x}"), x if x > 9 => "big".into(), _ => "less".to_string() });
    }
    let [first, .., last] = [1, 2, 3];
    let Some((a, b)) = "k=v".split_once('=') else { return Ok(()) };
    let found = 'outer: loop { for i in 0.. { if i * i > 50 { break 'outer i; } } };
    println!("{} {} {} {} {} {}", first, last, a, b, found, matches!('x', 'a'..='z'));
    Ok(())
}
// feature: linked_nodes
fn linked_nodes() -> Played {
    struct Node {
        value: i32,
        next: Option<Box<Node>>,
    }
    let mut head = None;
    for value in 0..100000 {
        head = Some(Box::new(Node { value, next: head }));
    }
    let mut sum = 0i64;
    while let Some(mut node) = head {
        sum += node.value as i64;
        head = node.next.take();
    }
    let parent = Rc::new(RefCell::new(vec![1]));
    let child = Rc::downgrade(&parent);
    println!("{} {:?} {}", sum, child.upgrade().map(|held| held.borrow().len()), std::mem::size_of::<Option<Box<Node>>>());
    Ok(())
}
// feature: reads_and_writes_in_memory
fn reads_and_writes_in_memory() -> Played {
    let mut held = io::Cursor::new(Vec::new());
    held.write_all(&42u32.to_le_bytes())?;
    held.set_position(0);
    let mut four = [0; 4];
    held.read_exact(&mut four)?;
    println!("{} {}", u32::from_le_bytes(four), io::copy(&mut &b"copied"[..], &mut io::sink())?);
    Ok(())
}

fn main() -> Played {
    let mut line = Vec::new();
    let mut byte = [0u8];
    // By the descriptor: what `io::stdin` reads ahead would be lost to `/dev/stdin`.
    let mut given = std::mem::ManuallyDrop::new(unsafe { <fs::File as std::os::fd::FromRawFd>::from_raw_fd(0) });
    while given.read(&mut byte)? == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    let line = String::from_utf8(line)?;
    let features: &[(&str, fn() -> Played)] = table![
        prints, prints_much, reads_lines, reads_all, reads_dev_stdin, exits, panics, fails, aborts, overflows,
        catches_panics, threads, scopes_and_atomics, recursion, processes, sockets, files, temporary_files,
        environment, times, collections, texts, numbers, memory, ownership, sums_its_input, reads_bytes,
        reads_exactly, exits_beyond_a_byte, overflows_a_number, unwraps_nothing, panics_while_unwinding, asserts,
        signals, calls_c, many_threads, poisoned_locks, futures, pipes, iterators, stable_sorting, big_integers,
        floats, unicode, formats, errors, generics, patterns, linked_nodes, reads_and_writes_in_memory,
    ];
    let names: Vec<&str> = line.split(' ').collect();
    for name in &names {
        let (_, play) = features.iter().find(|(known, _)| known == name).unwrap();
        if names.len() == 1 {
            return play();
        }
        println!("== {}", name);
        if let Err(error) = play() {
            println!("{}", error);
        }
    }
    Ok(())
}
