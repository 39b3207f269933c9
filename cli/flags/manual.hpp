// cli/flags/manual.hpp: manual pages, made from the tables of verbs and options.
//
// The source is mdoc(7), which man shows everywhere; 'bloomery help --man build | man -l -' does so without a file. The
// build writes all pages and installs them to share/man/man1.
#pragma once

#include <string>

#include "cli/verbs/verb.hpp"

namespace bloomery::cli {

// bloomery(1)
std::string manual_page();
// bloomery-VERB(1)
std::string manual_page(const verb& command);

}  // namespace bloomery::cli
