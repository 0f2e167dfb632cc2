(define (problem depots-2)
  (:domain depots)
  (:objects depot0 - depot dist0 - distributor truck0 truck1 - truck pallet0 pallet1 pallet2 - pallet crate0
         crate1 - crate hoist0 hoist1 - hoist)
  (:init (at pallet0 depot0) (at pallet1 dist0) (at pallet2 dist0) (at hoist0 depot0) (at hoist1 dist0)
         (available hoist0) (available hoist1) (at truck0 depot0) (at truck1 dist0) (at crate0 dist0) (on
         crate0 pallet1) (clear crate0) (at crate1 depot0) (on crate1 pallet0) (clear crate1) (clear pallet2))
  (:goal (and (on crate0 pallet0) (on crate1 pallet2))))
