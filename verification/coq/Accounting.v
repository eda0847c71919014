(* T adaptive steps on uniform batches, step by step: the profile of one step amplified by subsampling, rounded up to a
   grid, and composed at the grid points with rounding. What must be checked by computation is listed as hypotheses. The
   accountant takes one power of the profile instead ([Powers.v] shows that both are the same without rounding), and its
   exact adversary orders windows and stairs by a leader, of which only the composition of blocks is proved in Coq; the
   second theorem here is about a certificate of triples that the accountant does not use. *)

From Coq Require Import Reals Lra List Lia Permutation.
From DPADMM Require Export Certificate Grid.
Import ListNotations.
Open Scope R_scope.

(** Settles: L, D, SUBSAMPLING, COMPOSITION, GRID-RECURSION. If h bounds what one exchanged record of a batch costs at
    every y >= 1, the profile K is above the amplified h on both sides of 1 up to tau, and the iterates c are computed
    at the grid points with error e k in step k, then T adaptive steps on batches of m + 1 of n records have H_z <= c T
    z + e 0 + .. + e (T-1) + T tau. *)
Theorem accounting_on_batches :
  forall {A X : Type} (I : integral X) (m : nat) (s s' : A) (l : list A) (mu : list X -> list A -> X -> R) (h : R -> R)
    (K : profile) (T n : nat) (y : nat -> R) (c : nat -> R -> R) (e : nat -> R) (tau : R),
  (m <= length l)%nat -> 0 <= tau ->
  (forall past b, density I (mu past b)) ->
  (forall past b b' x, Permutation b b' -> mu past b x = mu past b' x) ->
  (forall past z a a' B, 1 <= z -> length B = m -> hockey I z (mu past (a :: B)) (mu past (a' :: B)) <= h z) ->
  let q := INR (S m) / INR (S (length l)) in
  proper K -> (forall z, 0 <= z -> pos (1 - z) <= value K z) ->
  (forall z, 1 <= z -> q * h (1 + (z - 1) / q) <= value K z + tau) ->
  (forall z, 0 < z < 1 -> 1 - z + z * (q * h (1 + (1 / z - 1) / q)) <= value K z + tau) ->
  grid y n ->
  (forall z, 0 <= z -> pos (1 - z) <= c O z) ->
  (forall k j t, (j < n)%nat -> 0 <= t <= 1 ->
     t * c (S k) (y j) + (1 - t) * c (S k) (y (S j)) <= c (S k) (t * y j + (1 - t) * y (S j))) ->
  (forall k z, y n <= z -> c (S k) (y n) <= c (S k) z) ->
  (forall k j, (j <= n)%nat -> base K + lsum (fun a => fst a * c k (y j / snd a)) (atoms K) <= c (S k) (y j) + e k) ->
  (forall k, 0 <= e k) ->
  let p := fun r past => on_batch (S m) (r :: l) (mu past) in
  forall z, 0 <= z -> sections I T (fun past => pos (joint (p s) past - z * joint (p s') past)) ->
  composed I T z (p s) (p s') <= c T z + lsum e (seq 0 T) + INR T * tau.
Proof.
  intros A X I m s s' l mu h K T n y c e tau Hm Htau Dmu Perm Hh q PK HK Up Down G C0 Cell Far Step He p z Hz Sec.
  assert (Dp : forall r past, density I (p r past)) by (intros; apply on_batch_density; [ simpl; lia | auto ]).
  apply (grid_recursion_bounds I T 0 n (p s) (p s') (fun _ => K) tau y c e); auto.
  - intros past _. exists (fun _ => 1). repeat split; [ intros; lra | simpl; lra | ].
    intros w Hw. simpl.
    destruct (subsampled_profile I m s s' l (mu past) h Hm) as (Above & Below); auto.
    + intro b. split; apply Dmu.
    + fold q in Above, Below. assert (hockey I w (p s past) (p s' past) <= value K w + tau); [ | lra ].
      destruct (Rle_lt_dec 1 w); eapply Rle_trans; [ apply Above; assumption | now apply Up | apply Below; lra |
        apply Down; lra ].
  - intros k i j _ Hj. now apply Step.
Qed.

(** Settles: CERTIFICATE, TRIPLES, COMPOSITION, GRID-RECURSION. The sharper bound, likewise: a certificate whose checks
    pass for every triple of points of the ball, and iterates computed at the grid points with error e k in step k,
    bound T adaptive noisy sums over batches of m + 1 of n records. *)
Theorem certified_accounting :
  forall {A X : Type} (I : integral X) (zero : X) (plus minus : X -> X -> X) (phi : X -> R) (ball : X -> Prop)
    (m : nat) (s s' : A) (l : list A) (g : list X -> A -> X)
    (u : nat -> R) (M T N n : nat) (U D : nat -> nat -> R) (y : nat -> R) (c : nat -> R -> R) (e : nat -> R) (tau : R),
  vector_space I zero plus minus -> density I phi -> (forall h a, ball (g h a)) ->
  (m < length l)%nat -> (0 < M)%nat -> 0 <= tau ->
  u O = 0 -> (forall j, (j < M)%nat -> u j < u (S j)) ->
  let q := INR (S m) / INR (S (length l)) in
  (forall i, (i <= N)%nat -> reference_checked q u M (U i) (D i)) ->
  (forall v a a', ball v -> ball a -> ball a' ->
     let P := triple minus phi q v a in let Q := triple minus phi q v a' in
     exists lam : nat -> R, (forall i, 0 <= lam i) /\ lsum lam (seq 0 (S N)) <= 1 /\
     (forall j, (j < M)%nat -> hockey I (1 + q * u j) P Q <= q * lsum (fun i => lam i * U i j) (seq 0 (S N)) /\
                               hockey I (1 + q * u j) Q P <= q * lsum (fun i => lam i * D i j) (seq 0 (S N))) /\
     hockey I (1 + q * u (M - 1)%nat) P Q <= tau /\ hockey I (1 + q * u (M - 1)%nat) Q P <= tau) ->
  grid y n ->
  (forall z, 0 <= z -> pos (1 - z) <= c O z) ->
  (forall k j t, (j < n)%nat -> 0 <= t <= 1 ->
     t * c (S k) (y j) + (1 - t) * c (S k) (y (S j)) <= c (S k) (t * y j + (1 - t) * y (S j))) ->
  (forall k z, y n <= z -> c (S k) (y n) <= c (S k) z) ->
  (forall k i j, (i <= N)%nat -> (j <= n)%nat ->
     let K := reference q u M (U i) (D i) in
     base K + lsum (fun a => fst a * c k (y j / snd a)) (atoms K) <= c (S k) (y j) + e k) ->
  (forall k, 0 <= e k) ->
  let p := fun r h => on_batch (S m) (r :: l) (noisy_sum zero plus minus phi (g h)) in
  forall z, 0 <= z -> sections I T (fun h => pos (joint (p s) h - z * joint (p s') h)) ->
  composed I T z (p s) (p s') <= c T z + lsum e (seq 0 T) + INR T * tau.
Proof.
  intros A X I zero plus minus phi ball m s s' l g u M T N n U D y c e tau V Hphi Hball Hm HM Htau u0 Hu q Ref Checks
    G C0 Cell Far Step He p z Hz Sec.
  assert (Hq : 0 < q <= 1).
  { split; [ apply Rdiv_lt_0_compat; apply lt_0_INR; lia | ].
    apply Rmult_le_reg_r with (INR (S (length l))); [ apply lt_0_INR; lia | ]. unfold q, Rdiv.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by (apply not_0_INR; lia). apply le_INR; lia. }
  assert (Dp : forall r h, density I (p r h))
    by (intros; apply on_batch_density; [ simpl; lia | intro; now apply noisy_density ]).
  apply (grid_recursion_bounds I T N n (p s) (p s') (fun i => reference q u M (U i) (D i)) tau y c e); auto.
  - intros i Hi. split; [ apply reference_proper | apply reference_above_unit ]; auto; lra.
  - intros h _. apply step_dominated_by_triples; auto.
    + intro b; now apply noisy_density.
    + intros; now apply (noisy_permutation I zero plus minus).
    + fold q. intros B j _. destruct (Checks (g h j) (g h s) (g h s')) as (lam & L0 & L1 & Node & TU & TD); auto.
      assert (Dom : dominated I (S N) (fun i => reference q u M (U i) (D i)) tau
        (triple minus phi q (g h j) (g h s)) (triple minus phi q (g h j) (g h s'))).
      { apply (certificate_dominates I q u M (S N) U D tau _ _ lam); auto; try lra;
          try (apply (triple_density I zero plus minus); auto; lra); try (intros i Hi; apply Ref; lia);
          intros k Hk; now apply Node. }
      destruct Dom as (lam' & L0' & L1' & L2'). exists lam'. repeat split; [ assumption.. | ]. intros w Hw.
      rewrite (hockey_triple I zero plus minus V phi Hphi (g h) q w B j s s'). now apply L2'.
Qed.
