// cli/terminal/signals.hpp: clean up on signals.
//
// On a signal that ends the program (Ctrl-C, kill, a closed pipe, a limit of processor time) the temporary file that is
// being written is removed, the progress line is cleared, and the process ends as killed by that signal, so that a
// shell sees it as such. Signals that the parent chose to ignore (nohup) stay ignored. Bytes of a mapped file that are
// no longer there when they are read end it with an error of one line, as a failed read would.
#pragma once

namespace bloomery::cli {

void handle_signals();
// Whether there is a progress line on the terminal that must be cleared when we are stopped.
void progress_line_is_shown(bool shown);

}  // namespace bloomery::cli
