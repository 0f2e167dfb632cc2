(define (problem visitall-3x3)
  (:domain visitall)
  (:objects c0-0 c1-0 c2-0 c0-1 c2-1 c0-2 c1-2 c2-2 - place)
  (:init (at-robot c0-0) (visited c0-0) (connected c0-0 c1-0) (connected c0-0 c0-1) (connected c1-0 c0-0)
         (connected c1-0 c2-0) (connected c2-0 c1-0) (connected c2-0 c2-1) (connected c0-1 c0-0) (connected
         c0-1 c0-2) (connected c2-1 c2-0) (connected c2-1 c2-2) (connected c0-2 c0-1) (connected c0-2 c1-2)
         (connected c1-2 c0-2) (connected c1-2 c2-2) (connected c2-2 c2-1) (connected c2-2 c1-2))
  (:goal (and (visited c0-0) (visited c1-0) (visited c2-0) (visited c0-1) (visited c2-1) (visited c0-2)
         (visited c1-2) (visited c2-2))))
