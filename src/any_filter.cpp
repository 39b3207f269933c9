// The code behind any_filter, compiled once for the tool and the tests: see any_filter.hpp.
#include <bloomery/any_filter_models.hpp>
