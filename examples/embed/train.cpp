// Trains a model, evaluates it and keeps it: train lenet.so idx:digits lenet.safetensors
#include <cstdio>
#include <dlc/run.h>

int main(int, char **arguments) {
  auto run =
      dlc::Run::open({.module = arguments[1], .data = arguments[2], .checkpoint = arguments[3]});
  dlc::Status status = run.ok() ? (*run)->train() : run.takeStatus();
  if (status.ok())
    std::printf("accuracy %.4f\n", (*run)->evaluate()->metrics[1].second.number);
  std::fprintf(stderr, "%s", std::string(status.message()).c_str());
  return !status.ok();
}
