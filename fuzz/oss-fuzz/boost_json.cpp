/// Boost.JSON from its headers: a compiled one is of the distribution's C++ library, not of the fuzzing engine's.
#include <boost/json/src.hpp>
