// The structs of abi.h, read from its text: what fields they have, where, and of what type. Tests
// that go through every field take their list from here, so that a new field is never forgotten.
//
// It understands what abi.h uses: typedef struct and typedef enum, numbers of fixed size, arrays of
// constant size, nested structs, pointers. That the sizes are the compiler's is tested.
#ifndef DLC_TEST_LIB_ABIFIELDS_ABIFIELDS_H
#define DLC_TEST_LIB_ABIFIELDS_ABIFIELDS_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dlc::test {

enum class FieldType { Unsigned, Double, Char, Pointer };

/// A number in a struct, or an array of them: nested structs are taken apart.
struct AbiField {
  std::string name; ///< "type.layout.order"
  FieldType type;
  uint64_t offset, bytes; ///< of the first element, of one element
  uint64_t count;         ///< elements
};

struct AbiStruct {
  uint64_t bytes = 0, alignment = 1;
  std::vector<AbiField> fields;
};

struct Abi {
  std::map<std::string, AbiStruct> structs;
  /// What the elements of each kind of table are: a struct, "uint64_t" or "bytes".
  std::map<uint32_t, std::string> tables;
};

/// Reads the header's text. Aborts with a message if it does not understand it.
Abi readAbi(const std::string &text);

/// The abi.h that this program was built with.
Abi readAbi();

} // namespace dlc::test

#endif
