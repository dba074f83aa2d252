#include "other_programs/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "base/text.h"
#include "qtool/base/error.h"
#include "signals.h"

extern char** environ;

namespace qtool::tool {
namespace {

constexpr std::size_t kMostKeptErrors = 4096;
constexpr int kPollMilliseconds = 100;  // after this time, at the latest, requests to stop are seen

void require_success(int error, const std::string& program, const char* what) {
  if (error == 0) return;
  throw Error(ErrorCode::kIo, to_text("program '", program, "': ", what,
                                      " failed: ", std::generic_category().message(error)));
}

/// Both ends of a pipe.
struct Pipe {
  Descriptor read;
  Descriptor write;
};

Pipe make_pipe(const std::string& program) {
  std::array<int, 2> ends{};
  require_success(::pipe2(ends.data(), O_CLOEXEC) == 0 ? 0 : errno, program, "pipe");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// What posix_spawnp() does before the program begins: the three streams, a process group of its
/// own, and signals as a new program expects them.
class SpawnSettings {
 public:
  SpawnSettings(int input, int output, int errors) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, errors, STDERR_FILENO);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    sigset_t usual;
    sigemptyset(&usual);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) sigaddset(&usual, signal);
    posix_spawnattr_setsigdefault(&attributes_, &usual);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_,
        static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP));
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  [[nodiscard]] const posix_spawn_file_actions_t* actions() const { return &actions_; }
  [[nodiscard]] const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

/// A running program, which is killed at the end unless it was waited for.
class RunningChild {
 public:
  explicit RunningChild(pid_t process) : process_(process) {}
  ~RunningChild() {
    if (process_ <= 0) return;
    ::kill(-process_, SIGKILL);
    static_cast<void>(wait_with(0));
  }
  RunningChild(const RunningChild&) = delete;
  RunningChild& operator=(const RunningChild&) = delete;

  /// The exit code, if the program has ended.
  [[nodiscard]] std::optional<int> ended() { return wait_with(WNOHANG); }

 private:
  std::optional<int> wait_with(int options) {
    int status = 0;
    pid_t found = 0;
    do {
      found = ::waitpid(process_, &status, options);
    } while (found < 0 && errno == EINTR);
    if (found == 0) return std::nullopt;
    process_ = 0;
    if (found < 0) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  pid_t process_;
};

// Appends what can be read. False at the end of the file.
bool read_some(int file, std::string& text) {
  std::array<char, 1 << 16> bytes{};
  const ssize_t count = ::read(file, bytes.data(), bytes.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  text.append(bytes.data(), static_cast<std::size_t>(count));
  return count > 0;
}

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.find_last_of('\n') + 1);
}

}  // namespace

std::optional<ChildOutput> run_child(const std::vector<std::string>& words, const Descriptor& input,
                                     std::chrono::duration<double> limit) {
  const std::string& program = words.front();
  require_success(::lseek(input.get(), 0, SEEK_SET) == 0 ? 0 : errno, program, "input");
  Pipe output = make_pipe(program);
  Pipe errors = make_pipe(program);
  std::vector<char*> arguments;
  // The interface is older than const; the words are not changed.
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const SpawnSettings settings(input.get(), output.write.get(), errors.write.get());
  pid_t process = 0;
  const int failure = ::posix_spawnp(&process, program.c_str(), settings.actions(),
                                     settings.attributes(), arguments.data(), environ);
  if (failure == ENOENT || failure == EACCES || failure == ENOTDIR) return std::nullopt;
  require_success(failure, program, "start");
  RunningChild child(process);
  output.write = Descriptor();
  errors.write = Descriptor();

  const auto begin = std::chrono::steady_clock::now();
  ChildOutput result;
  std::array<pollfd, 2> files{{{output.read.get(), POLLIN, 0}, {errors.read.get(), POLLIN, 0}}};
  std::optional<int> code;
  while (files[0].fd >= 0 || files[1].fd >= 0 || !code) {
    stop_if_interrupted();
    if (std::chrono::steady_clock::now() - begin > limit) {
      throw Error(ErrorCode::kUnsupported, to_text("program '", program, "' did not end within ",
                                                   to_fixed(limit.count(), 0), " s"));
    }
    const int ready = ::poll(files.data(), files.size(), kPollMilliseconds);
    for (std::size_t i = 0; ready > 0 && i < files.size(); ++i) {
      std::string& text = i == 0 ? result.output : result.last_error;
      if (files[i].fd < 0 || files[i].revents == 0) continue;
      if (!read_some(files[i].fd, text)) files[i].fd = -1;  // poll() passes over it
      files[i].revents = 0;
    }
    if (result.output.size() > kMostChildOutput) {
      throw Error(ErrorCode::kInvalidArgument,
                  to_text("program '", program, "' writes more than ", kMostChildOutput, " bytes"));
    }
    if (result.last_error.size() > kMostKeptErrors) {
      result.last_error.erase(0, result.last_error.size() - kMostKeptErrors);
    }
    if (!code) code = child.ended();
    // What the program has started may hold the pipes open.
    if (code && ready == 0) break;
  }
  result.code = *code;
  result.last_error = last_line(std::move(result.last_error));
  return result;
}

}  // namespace qtool::tool
