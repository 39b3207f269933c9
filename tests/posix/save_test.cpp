// A file appears whole or not at all, and what was there before survives every failure.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bloomery/posix/load.hpp>
#include <bloomery/posix/output.hpp>
#include <bloomery/posix/save.hpp>

#include <csignal>
#include <thread>

#include <bloomery/kinds/blocked.hpp>
#include <bloomery/kinds/bloom.hpp>
#include <bloomery/posix/mapped.hpp>

#include "support/typed.hpp"

namespace bloomery::test {
namespace {

const hash_spec hash{};

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & static_cast<mode_t>(07777);
}

// No file may grow beyond this size; the signal that would say so is ignored, so that the write fails.
class file_size_limit {
 public:
  explicit file_size_limit(rlim_t size_bytes) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limited{size_bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limited);
  }
  file_size_limit(const file_size_limit&) = delete;
  file_size_limit& operator=(const file_size_limit&) = delete;
  ~file_size_limit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_{};
  void (*old_handler_)(int) = nullptr;
};

TEST(Save, ExistingFileIsRefusedAndUntouched) {
  const folder box;
  const std::string path = box / "filter";
  write_bytes(path, as_bytes("precious"));
  const auto done = save(sample<bloom>(20), hash, path.c_str());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, errc::already_exists);
  EXPECT_EQ(read_bytes(path), as_bytes("precious"));
  EXPECT_EQ(box.names(), std::vector<std::string>{"filter"});
}

TEST(Save, FileThatAppearsMeanwhileIsRefusedAtTheEnd) {
  const folder box;
  const std::string path = box / "filter";
  auto file = output_file::open(path.c_str(), false);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write(as_bytes("new")));
  write_bytes(path, as_bytes("precious"));
  const auto done = file->commit();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, errc::already_exists);
  EXPECT_EQ(read_bytes(path), as_bytes("precious"));
}

TEST(Save, ReplacedFileKeepsItsPermissions) {
  const folder box;
  const std::string path = box / "filter";
  for (const mode_t mode : {mode_t{0600}, mode_t{0640}, mode_t{0664}, mode_t{0444}}) {
    std::filesystem::remove(path);
    write_bytes(path, as_bytes("old"));
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    ASSERT_TRUE(save(sample<bloom>(20), hash, path.c_str(), {.replace = true}));
    EXPECT_EQ(mode_of(path), mode);
    EXPECT_TRUE(load<bloom>(path.c_str()));
  }
}

TEST(Save, NewFileHasThePermissionsThatTheUmaskLeaves) {
  const folder box;
  const mode_t old = ::umask(027);
  EXPECT_TRUE(save(sample<bloom>(20), hash, (box / "filter").c_str()));
  ::umask(old);
  EXPECT_EQ(mode_of(box / "filter"), 0640U);
}

TEST(Save, FailedWriteKeepsTheOldFileAndLeavesNoOther) {
  const folder box;
  const std::string path = box / "filter";
  ASSERT_TRUE(save(sample<bloom>(20), hash, path.c_str()));
  const bytes before = read_bytes(path);
  const bloom large = sample<bloom>(100'000);
  for (const bool text : {false, true}) {
    const file_size_limit limit(65536);
    const auto done = save(large, hash, path.c_str(), {.replace = true, .text = text});
    ASSERT_FALSE(done);
    EXPECT_EQ(describe(done.error()).view(), path + ": cannot write: File too large");
  }
  EXPECT_EQ(read_bytes(path), before);
  EXPECT_EQ(box.names(), std::vector<std::string>{"filter"});
}

TEST(Save, FullDeviceIsAnError) {
  const auto done = save(sample<bloom>(20), hash, "/dev/full");
  ASSERT_FALSE(done);
  EXPECT_EQ(describe(done.error()).view(), "/dev/full: cannot write: No space left on device");
}

TEST(Save, UnusableTargetsAreRefusedWithTheReason) {
  const folder box;
  const bloom filter = sample<bloom>(20);
  EXPECT_EQ(describe(save(filter, hash, (box / "none/filter").c_str()).error()).view(),
            (box / "none/filter") + ": cannot create: No such file or directory");
  EXPECT_EQ(save(filter, hash, (box / ".").c_str()).error().code, errc::is_directory);
  EXPECT_EQ(save(filter, hash, (box / ".").c_str(), {.replace = true}).error().code, errc::is_directory);
  write_bytes(box / "file", {});
  EXPECT_EQ(describe(save(filter, hash, (box / "file/filter").c_str()).error()).view(),
            (box / "file/filter") + ": cannot create: Not a directory");
  EXPECT_EQ(save(filter, hash, "/proc/filter").error().code, errc::io);
  EXPECT_EQ(save(filter, hash, std::string(PATH_MAX + 10, 'a').c_str()).error().code, errc::io);
  EXPECT_EQ(save(filter, hash, "").error().code, errc::io);
  EXPECT_EQ(box.names(), std::vector<std::string>{"file"});
}

TEST(Save, LongestFileNameIsFine) {
  const folder box;
  EXPECT_TRUE(save(sample<bloom>(20), hash, (box / std::string(NAME_MAX, 'a')).c_str()));
}

TEST(Save, FileOfALinkIsReplacedAndTheLinkStays) {
  const folder box;
  std::filesystem::create_directory(box / "there");
  write_bytes(box / "there/real", as_bytes("old"));
  std::filesystem::create_symlink("there/real", box / "second");
  std::filesystem::create_symlink("second", box / "first");
  const bloom filter = sample<bloom>(20);
  EXPECT_EQ(save(filter, hash, (box / "first").c_str()).error().code, errc::already_exists);
  ASSERT_TRUE(save(filter, hash, (box / "first").c_str(), {.replace = true}));
  EXPECT_TRUE(std::filesystem::is_symlink(box / "first"));
  EXPECT_TRUE(std::filesystem::is_symlink(box / "second"));
  EXPECT_TRUE(load<bloom>((box / "there/real").c_str()));
  EXPECT_EQ(box.names(), (std::vector<std::string>{"first", "second", "there"}));
}

TEST(Save, LinkToNothingCreatesItsTargetAndALoopIsAnError) {
  const folder box;
  std::filesystem::create_symlink("target", box / "link");
  ASSERT_TRUE(save(sample<bloom>(20), hash, (box / "link").c_str()));
  EXPECT_TRUE(load<bloom>((box / "target").c_str()));
  std::filesystem::create_symlink("b", box / "a");
  std::filesystem::create_symlink("a", box / "b");
  EXPECT_EQ(describe(save(sample<bloom>(20), hash, (box / "a").c_str()).error()).view(),
            (box / "a") + ": cannot create: Too many levels of symbolic links");
}

TEST(Save, OpenDescriptorIsWrittenWhereItStands) {
  const folder box;
  const std::string path = box / "out";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::write(fd, "before", 6), 6);
  const bloom filter = sample<bloom>(20);
  ASSERT_TRUE(save(filter, sample_hash<bloom>(), ("/dev/fd/" + std::to_string(fd)).c_str()));
  ASSERT_EQ(::write(fd, "after", 5), 5);
  ::close(fd);
  bytes expected = as_bytes("before");
  for (const std::byte b : saved(filter)) expected.push_back(b);
  for (const std::byte b : as_bytes("after")) expected.push_back(b);
  EXPECT_TRUE(read_bytes(path) == expected);
}

TEST(Save, ConcurrentSaversEachWriteAWholeFile) {
  const folder box;
  const std::string path = box / "filter";
  const bloom small = sample<bloom>(20);
  const bloom large = sample<bloom>(20'000);
  ASSERT_TRUE(save(small, hash, path.c_str()));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 6; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(save(thread % 2 == 0 ? small : large, hash, path.c_str(), {.replace = true}));
        const auto loaded = load<bloom>(path.c_str());
        ASSERT_TRUE(loaded) << describe(loaded.error()).c_str();
        EXPECT_TRUE(loaded->filter == small || loaded->filter == large);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(box.names(), std::vector<std::string>{"filter"});
}

TEST(Save, OfManyThatCreateOneFileExactlyOneSucceeds) {
  const folder box;
  const std::string path = box / "filter";
  const bloom filter = sample<bloom>(2000);
  std::atomic<int> created{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      const auto done = save(filter, hash, path.c_str());
      if (done) {
        ++created;
      } else {
        EXPECT_EQ(done.error().code, errc::already_exists);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(created, 1);
  EXPECT_EQ(box.names(), std::vector<std::string>{"filter"});
  EXPECT_TRUE(load<bloom>(path.c_str()));
}

TEST(Save, TemporaryFileIsHiddenNamedAndRemovedUnlessCommitted) {
  const folder box;
  EXPECT_EQ(pending_temporary(), nullptr);
  {
    auto file = output_file::open((box / "filter").c_str(), false);
    ASSERT_TRUE(file);
    ASSERT_NE(pending_temporary(), nullptr);
    ASSERT_EQ(box.names().size(), 1U);
    EXPECT_EQ(box / box.names()[0], pending_temporary());
    EXPECT_TRUE(box.names()[0].starts_with(".bloomery-"));
  }
  EXPECT_EQ(pending_temporary(), nullptr);
  EXPECT_TRUE(box.names().empty());
  {
    auto file = output_file::open((box / "filter").c_str(), false);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->commit());
  }
  EXPECT_EQ(pending_temporary(), nullptr);
  EXPECT_EQ(box.names(), std::vector<std::string>{"filter"});
}

TEST(Save, ProgramThatIsKilledWhileWritingLeavesTheOldFileAlone) {
  const folder box;
  const std::string path = box / "filter";
  write_bytes(path, as_bytes("old"));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGTERM, [](int) {
      remove_pending_temporaries();
      ::_exit(3);
    });
    auto first = output_file::open(path.c_str(), true);
    auto second = output_file::open((path + "2").c_str(), true);
    if (first && second && first->write(as_bytes("half")) && second->write(as_bytes("half"))) ::raise(SIGTERM);
    ::_exit(4);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(box.names(), std::vector<std::string>{"filter"});
  EXPECT_EQ(read_bytes(path), as_bytes("old"));
}

TEST(Save, OverItsOwnMappedFileKeepsTheMappingWhole) {
  const folder box;
  const std::string path = box / "filter";
  const blocked old = sample<blocked>(50'000);
  ASSERT_TRUE(save(old, hash, path.c_str()));
  const auto file = mapped<blocked>::open(path.c_str());
  ASSERT_TRUE(file);
  ASSERT_TRUE(save(sample<blocked>(10), hash, path.c_str(), {.replace = true}));
  EXPECT_TRUE(file->verify_all());
  EXPECT_TRUE(file->unchecked() == old);
}

TEST(Save, SinkThatFailsStopsTheSavingWithItsError) {
  const bloom filter = sample<bloom>(2000);
  for (const bool text : {false, true}) {
    int calls = 0;
    auto failing = [&calls](std::span<const std::byte>) -> result<void> {
      return ++calls < 3 ? result<void>{} : result<void>(fail(errc::io, "the line is cut"));
    };
    const auto done = save_to(filter, hash, byte_sink(failing), {.text = text});
    ASSERT_FALSE(done);
    EXPECT_EQ(describe(done.error()).view(), "the line is cut");
    EXPECT_EQ(calls, 3);
  }
}

}  // namespace
}  // namespace bloomery::test
