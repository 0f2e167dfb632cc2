(define (problem visitall-3x2)
  (:domain visitall)
  (:objects c0-0 c1-0 c2-0 c0-1 c1-1 c2-1 - place)
  (:init (at-robot c0-0) (visited c0-0) (connected c0-0 c1-0) (connected c0-0 c0-1) (connected c1-0 c0-0)
         (connected c1-0 c2-0) (connected c1-0 c1-1) (connected c2-0 c1-0) (connected c2-0 c2-1) (connected
         c0-1 c0-0) (connected c0-1 c1-1) (connected c1-1 c1-0) (connected c1-1 c0-1) (connected c1-1 c2-1)
         (connected c2-1 c2-0) (connected c2-1 c1-1))
  (:goal (and (visited c0-0) (visited c1-0) (visited c2-0) (visited c0-1) (visited c1-1) (visited c2-1))))
