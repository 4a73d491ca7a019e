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
// feature: overflows, alone, differs at every level: overflows its stack in Rust
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

fn main() -> Played {
    let mut line = Vec::new();
    let mut byte = [0u8];
    // By the descriptor: what `io::stdin` reads ahead would be lost to `/dev/stdin`.
    let mut given = std::mem::ManuallyDrop::new(unsafe { <fs::File as std::os::fd::FromRawFd>::from_raw_fd(0) });
    while given.read(&mut byte)? == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    let line = String::from_utf8(line)?;
    let features: [(&str, fn() -> Played); 26] = [
        ("prints", prints), ("prints_much", prints_much), ("reads_lines", reads_lines), ("reads_all", reads_all),
        ("reads_dev_stdin", reads_dev_stdin), ("exits", exits), ("panics", panics), ("fails", fails), ("aborts", aborts),
        ("overflows", overflows), ("catches_panics", catches_panics), ("threads", threads),
        ("scopes_and_atomics", scopes_and_atomics), ("recursion", recursion), ("processes", processes), ("sockets", sockets),
        ("files", files), ("temporary_files", temporary_files), ("environment", environment), ("times", times),
        ("collections", collections), ("texts", texts), ("numbers", numbers), ("memory", memory), ("ownership", ownership),
        ("", || Ok(())),
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
