// The same program as C++: the header must be valid there and declare C linkage.
#include "consumer.c"
