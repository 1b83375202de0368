// The superuser needs no permission: what permissions forbid is tried as somebody else.
#ifndef DLC_TEST_LIB_NOBODY_NOBODY_H
#define DLC_TEST_LIB_NOBODY_NOBODY_H

#include <string>
#include <unistd.h>

namespace dlc::test {

/// While it lives the superuser is nobody, to whom `folder` belongs; anybody else stays who he is.
class Nobody {
public:
  explicit Nobody(const std::string &folder) : user(geteuid()) {
    if (user == 0)
      became = chown(folder.c_str(), nobody, gid_t(-1)) == 0 && seteuid(nobody) == 0;
  }
  ~Nobody() {
    if (user == 0 && seteuid(0) != 0)
      _exit(1);
  }
  Nobody(const Nobody &) = delete;
  Nobody &operator=(const Nobody &) = delete;

  /// Whether permissions count now. Not for the superuser of a namespace that maps nobody else.
  explicit operator bool() const { return user != 0 || became; }

private:
  static constexpr uid_t nobody = 65534;
  const uid_t user;
  bool became = false;
};

} // namespace dlc::test

#endif
